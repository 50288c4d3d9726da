"""The hands: what an agent can do, each as plain data with an async function."""
