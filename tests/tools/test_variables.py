"""Looking at variables: real data frames, real laziness, and objects that must not be touched."""

import collections
import datetime as dt
import json
import subprocess
import sys
import weakref
from types import SimpleNamespace

import duckdb
import matplotlib as mpl
import matplotlib.figure
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from claw_nb.core.errors import ToolError
from claw_nb.core.protocols import Execution
from claw_nb.tools.variables import variable_tools

mpl.use("Agg")


class Namespace:
    """The kernel as the variable tools need it: the names, and nothing to run."""

    def __init__(self, **namespace):
        self.namespace = namespace

    async def execute(self, code, *, timeout=None):
        return Execution()


async def look(value, *, name="x", budget=4000):
    _, inspect = variable_tools(Namespace(**{name: value}))
    text = await inspect.run(name=name, budget=budget)
    assert len(text.encode()) <= budget
    return json.loads(text)


async def listed(**namespace):
    found = json.loads(await variable_tools(Namespace(**namespace))[0].run())
    assert all(set(row) == {"name", "type", "summary"} for row in found)
    return {row["name"]: (row["type"], row["summary"]) for row in found}


PENGUINS = {
    "species": ["Adelie", "Gentoo", None],
    "mass": [3750.0, None, 5000.0],
    "year": [2007, 2008, 2009],
}
ROWS = [
    {"species": "Adelie", "mass": 3750.0, "year": 2007},
    {"species": "Gentoo", "mass": None, "year": 2008},
    {"species": None, "mass": 5000.0, "year": 2009},
]


@pytest.mark.parametrize(
    ("frame", "type_"),
    [
        (pd.DataFrame(PENGUINS), "pandas.DataFrame"),
        (pl.DataFrame(PENGUINS), "polars.DataFrame"),
        (pa.table(PENGUINS), "pyarrow.Table"),
        (pa.RecordBatch.from_pydict(PENGUINS), "pyarrow.RecordBatch"),
    ],
)
async def test_a_data_frame_of_any_library_has_one_form(frame, type_):
    found = await look(frame, name="penguins")
    assert (found["name"], found["type"], found["shape"]) == ("penguins", type_, [3, 3])
    assert [column["name"] for column in found["columns"]] == ["species", "mass", "year"]
    assert [column["nulls"] for column in found["columns"]] == [1, 1, 0]
    assert found["columns"][1]["sample"] == [3750.0, None, 5000.0]
    assert found["rows"] == ROWS


async def test_columns_are_counted_where_the_library_can():
    column = {
        "name": "mass",
        "dtype": "float64",
        "nulls": 1,
        "min": 3750.0,
        "mean": 4375.0,
        "max": 5000.0,
        "sample": [3750.0, None, 5000.0],
    }
    assert (await look(pd.DataFrame(PENGUINS)))["columns"][1] == column
    assert (await look(pl.DataFrame(PENGUINS)))["columns"][1] == column | {"dtype": "Float64"}
    assert (await look(pl.DataFrame(PENGUINS)))["columns"][0]["unique"] == 3
    assert (await look(pd.DataFrame(PENGUINS)))["columns"][0]["unique"] == 2


async def test_a_labelled_index_two_columns_of_one_name_and_odd_values_are_told():
    frame = pd.DataFrame([[1, pd.NaT], [2, pd.Timestamp("2024-01-02")]], index=["a", "b"])
    frame.columns = ["n", "n"]
    found = await look(frame)
    assert found["index"] == ["a", "b"]
    assert found["rows"] == [{"n": 1, "n (2)": None}, {"n": 2, "n (2)": "2024-01-02 00:00:00"}]
    wide = pd.DataFrame({("a", 1): [np.inf], ("a", 2): [-0.5]})
    assert (await look(wide))["rows"] == [{"('a', 1)": "inf", "('a', 2)": -0.5}]


async def test_series_and_arrays_of_all_libraries():
    for value in (pd.Series([1, 2], name="n"), pl.Series("n", [1, 2])):
        found = await look(value)
        assert found["shape"] == [2, 1]
        assert found["rows"] == [{"n": 1}, {"n": 2}]
    assert (await look(pd.Index([3, 4], name="n")))["rows"] == [{"n": 3}, {"n": 4}]
    assert (await look(pa.array([1, None])))["columns"][0]["nulls"] == 1
    assert (await look(pa.chunked_array([[1], [2]])))["shape"] == [2, 1]
    found = await look(np.arange(6.0).reshape(2, 3))
    assert found == {
        "name": "x",
        "type": "numpy.ndarray",
        "shape": [2, 3],
        "dtype": "float64",
        "min": 0.0,
        "mean": 2.5,
        "max": 5.0,
        "sample": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
    }
    assert (await look(np.array([])))["shape"] == [0]
    assert (await look(np.float32(1.5)))["value"] == "np.float32(1.5)"


@pytest.mark.parametrize(
    "frame", [pd.DataFrame(), pl.DataFrame(), pa.table({}), pd.DataFrame({"a": []})]
)
async def test_an_empty_table_is_a_table(frame):
    found = await look(frame)
    assert found["shape"][0] == 0


async def test_a_wide_and_a_large_frame_fit_into_the_budget():
    frame = pd.DataFrame({f"column_{n}": ["x" * 5_000] * 3 for n in range(2_000)})
    for budget in (300, 1_000, 4_000, 20_000):
        found = await look(frame, budget=budget)
        assert found["shape"] == [3, 2_000]
        assert len(found["columns"]) + found["columns_left_out"] == 2_000
    assert len((await look(frame, budget=20_000))["columns"]) >= 30


async def test_a_lazy_frame_and_a_relation_are_not_computed():
    ran = []
    lazy = pl.DataFrame({"a": [1]}).lazy().map_batches(lambda frame: (ran.append(1), frame)[1])
    connection = duckdb.connect()
    connection.create_function("ring", lambda a: (ran.append(1), a)[1], ["BIGINT"], "BIGINT")
    relation = connection.sql("SELECT ring(range) AS a, 'x' AS b FROM range(5)")
    reader = pa.RecordBatchReader.from_batches(pa.schema([("a", "int64")]), iter([]))
    numbers = (ran.append(1) for _ in range(3))
    rows = await listed(lazy=lazy, relation=relation, reader=reader, numbers=numbers)
    assert rows["relation"] == ("duckdb.DuckDBPyRelation", "not computed: a, b")
    assert "collect" in (await look(lazy))["note"]
    found = await look(relation)
    assert found["columns"] == [{"name": "a", "dtype": "BIGINT"}, {"name": "b", "dtype": "VARCHAR"}]
    await look(reader)
    await look(numbers)
    assert ran == []
    assert relation.fetchall()[0] == (0, "x")
    assert ran


SPRUNG = []


class Trap:
    """Whoever asks it anything but its type finds out."""

    def __init__(self):
        self.plain = 1
        self.password = "hunter2"

    def _sprung(self, *_, **__):
        SPRUNG.append(sys._getframe(1).f_code.co_name)
        return NotImplemented

    __repr__ = __str__ = __len__ = __iter__ = __bool__ = __eq__ = __hash__ = _sprung
    __getitem__ = __contains__ = __format__ = __call__ = _sprung
    shape = dtypes = columns = property(_sprung)

    def __getattr__(self, name):
        SPRUNG.append(name)
        raise AttributeError(name)

    __class__ = property(lambda self: (SPRUNG.append("class"), Trap)[1])


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a = 1


async def test_no_property_and_no_foreign_repr_is_called():
    trap = Trap()
    cells = np.empty(2, dtype=object)
    cells[0] = trap
    holders = {
        "bare": trap,
        "items": [trap, (trap,)],
        "values": {"k": trap, "deep": {"d": {"e": {"f": trap}}}},
        "queue": collections.deque([trap]),
        "method": trap._sprung,
        "error": ValueError(trap),
        "space": SimpleNamespace(a=trap),
        "frame": pd.DataFrame({"a": cells}),
        "array": cells,
        "counted": collections.OrderedDict(a=trap),
    }
    SPRUNG.clear()
    assert set(await listed(**holders)) == set(holders)
    for name, value in holders.items():
        assert (await look(value, name=name))["name"] == name
    assert (await look(trap))["attributes"] == {"plain": 1, "password": "[REDACTED:password]"}
    assert (await look(Slotted()))["attributes"] == {"a": 1}
    assert SPRUNG == []


async def test_a_list_that_holds_itself_and_huge_things_end():
    endless = []
    endless.append(endless)
    rows = await listed(
        endless=endless,
        big=10**6_000,
        text="x" * 10**6,
        items=list(range(10**5)),
        ref=weakref.ref(Slotted),
    )
    assert rows["big"] == ("int", "int of 19,932 bits")
    assert all(len(summary) <= 200 for _, summary in rows.values())
    assert (await look(list(range(100))))["items_left_out"] == 80


async def test_what_an_object_says_of_itself_comes_first():
    class Spoken:
        def __init__(self, says):
            self.says = says

        def _repr_llm_(self):
            if isinstance(self.says, Exception):
                raise self.says
            return self.says

    assert (await look(Spoken("A model with 3 layers. token=3f9a8b7c6d5e4f3a")))["text"] == (
        "A model with 3 layers. token=[REDACTED:token]"
    )
    assert (await look(Spoken({"layers": 3, "password": "x1"})))["value"] == {
        "layers": 3,
        "password": "[REDACTED:password]",
    }
    assert "ValueError: no" in (await look(Spoken(ValueError("no"))))["note"]
    assert (await look(Spoken("x" * 10_000), budget=500))["cut"]
    assert "text" not in await look(Spoken)


async def test_secrets_are_masked_by_name_by_shape_and_by_column():
    key = "sk-ant-" + "a1B2c3D4" * 5
    rows = await listed(
        api_key="abc", password="x", note=f"use {key}", token="hello", d={"secret_key": "x"}
    )
    assert rows["api_key"][1] == "[REDACTED:key]"
    assert rows["password"][1] == "[REDACTED:password]"
    assert key not in rows["note"][1]
    assert rows["token"][1] == "'hello'"
    assert "[REDACTED:key]" in rows["d"][1]
    assert await look("abc", name="api_key") == {
        "name": "api_key",
        "type": "str",
        "value": "[REDACTED:key]",
    }
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        frame = make(
            {
                "password": ["hunter2", "tiger"],
                "token": ["the", "9f8e7d6c5b4a39f8"],
                "note": [key, "ok"],
                "pwd": [17, 18],
            }
        )
        text = json.dumps(await look(frame))
        for secret in ("hunter2", "tiger", "9f8e7d6c5b4a39f8", key, "17", "18"):
            assert secret not in text
        assert '"the"' in text


def double(n: int = 2) -> int:
    """Twice as much."""
    password = "hunter2"
    return n * len(password)


async def test_functions_classes_modules_and_figures_are_told():
    found = await look(double)
    assert found["signature"] == "double(n: int = 2) -> int"
    assert found["doc"] == "Twice as much."
    assert 'password = "[REDACTED:password]"' in found["source"]
    assert "class Slotted" in (await look(Slotted))["source"]
    assert (await look(np))["version"] == np.__version__
    figure = matplotlib.figure.Figure()
    axes = figure.add_subplot()
    axes.set(title="Mass", xlabel="species")
    assert (await look(figure))["axes"] == [{"title": "Mass", "x": "species", "y": ""}]
    assert (await look(len))["type"] == "builtin_function_or_method"


async def test_plain_values_are_told_plainly():
    when = dt.datetime(2024, 1, 2, tzinfo=dt.UTC)
    rows = await listed(a=1, b=1.5, c=None, d=True, e="x", f=when, g=b"abc", h={"k": [1]}, i={3})
    assert [summary for _, summary in rows.values()] == [
        "1",
        "1.5",
        "None",
        "True",
        "'x'",
        "datetime.datetime(2024, 1, 2, 0, 0, tzinfo=datetime.timezone.utc)",
        "bytes of 3 bytes",
        "1 items: {'k': [1]}",
        "1 items: {3}",
    ]
    assert (await look(float("nan")))["value"] is None
    assert (await look("é" * 10_000, budget=400))["length"] == 10_000


async def test_data_comes_before_code_and_hidden_names_stay_hidden():
    assert list(await listed(np=np, double=double, x=1, _y=2, __z=3)) == ["x", "np", "double"]
    _, inspect = variable_tools(Namespace(_y=2, penguins=1))
    for name, kind, hint in (
        ("_y", "not_found", "list_variables"),
        ("pengins", "not_found", "Did you mean penguins?"),
        ("penguins.x", "validation", "run_python"),
    ):
        with pytest.raises(ToolError) as caught:
            await inspect.run(name=name)
        assert caught.value.kind == kind
        assert hint in caught.value.hints[0]
    with pytest.raises(ToolError):
        await inspect.run(name="penguins", budget=10)


async def test_a_crowded_namespace_is_cut_with_a_word():
    rows = await listed(**{f"x{n}": n for n in range(500)})
    assert len(rows) == 201
    assert rows["…"][1] == "300 more names are not listed."


def test_no_data_library_is_imported_to_look():
    script = """
import asyncio, sys
from claw_nb.tools.variables import variable_tools
class Kernel:
    namespace = {"x": 1, "s": "a", "f": len, "d": {"a": [1]}}
tools = variable_tools(Kernel())
asyncio.run(tools[0].run())
for name in Kernel.namespace:
    asyncio.run(tools[1].run(name=name))
heavy = {"pandas", "numpy", "polars", "pyarrow", "duckdb", "matplotlib"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", script], check=True)
