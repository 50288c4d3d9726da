"""The models: one module per wire protocol, made by the catalogue."""
