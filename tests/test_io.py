"""Files as strangers bring them: each must read as a person would read it, or be refused in one clear sentence."""
import bz2, codecs, gzip, io, lzma, os, stat, sys, zipfile
from datetime import date, datetime, time
from decimal import Decimal
from time import process_time

import numpy as np, openpyxl, pandas as pd, pyarrow as pa, pyarrow.parquet as pq, pytest
from hypothesis import given, strategies as st

from cdmd_nb import io as table_io
from cdmd_nb.io import read_table, write_table
from cdmd_nb.schema import TableError


def read(data, name="a.csv", **limits):
    if isinstance(data, str): data = data.encode()
    return read_table(io.BytesIO(data), name=name, **limits)


def notes(df): return " ".join(df.attrs["notes"])


def rows(df): return df.astype(object).where(df.notna(), None).values.tolist()


def refused(data, *words, name="a.csv", **limits):
    "The message of the TableError: one sentence that names the file and holds all `words`."
    with pytest.raises(TableError) as e: read(data, name, **limits)
    message = str(e.value)
    assert type(e.value) is TableError and message.startswith(name) and message.endswith(".") and "\n" not in message and len(message) < 500
    for w in words: assert w in message, message
    return message


def workbook(cells, title="Sheet1", **more):
    "Bytes of a workbook with `cells` on its first sheet and others as named."
    book = openpyxl.Workbook()
    book.active.title = title
    for r in cells: book.active.append(r)
    for name, content in more.items():
        sheet = book.create_sheet(name)
        for r in content: sheet.append(r)
    f = io.BytesIO()
    book.save(f)
    return f.getvalue()


def archive(files, **options):
    f = io.BytesIO()
    with zipfile.ZipFile(f, "w", zipfile.ZIP_DEFLATED, **options) as z:
        for name, data in files.items(): z.writestr(name, data)
    return f.getvalue()


# --- plain files ---

def test_plain_csv_has_no_notes():
    df = read("a,b,c,d\n1,2.5,x,TRUE\n2,3.5,y,FALSE\n")
    assert [str(t) for t in df.dtypes] == ["int64", "float64", "object", "bool"]
    assert rows(df) == [[1, 2.5, "x", True], [2, 3.5, "y", False]]
    assert df.attrs == {"notes": []} and isinstance(df.index, pd.RangeIndex)


@pytest.mark.parametrize("sep,word", [(";", "semicolon"), ("\t", "tab"), ("|", "vertical bar")])
@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a", "a.dat", "A.TSV"])
def test_other_delimiters(sep, word, name):
    df = read(f"a{sep}b\n1{sep}x\n2{sep}y\n", name)
    assert rows(df) == [[1, "x"], [2, "y"]] and word in notes(df)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends(end, last):
    text = end.join(["a,b", '1,"x\ny"', "2,z"]) + end * last
    assert rows(read(text)) == [[1, "x\ny"], [2, "z"]]


def test_quotes_newlines_delimiters_in_cells():
    df = read('a,b\n"x, ""y""\nz; w",1\n"",2\n')
    assert rows(df) == [['x, "y"\nz; w', 1], [None, 2]] and df.attrs["notes"] == []


def test_sources(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n2\n")
    with open(path) as text, open(path, "rb") as binary:
        for source in (path, str(path), text, binary, io.StringIO("a\n1\n2\n"), io.BytesIO(b"a\n1\n2\n")): assert rows(read_table(source)) == [[1], [2]]
    f = io.BytesIO()
    f.write(b"a\n1\n")
    assert rows(read_table(f)) == [[1]]  # not rewound


def test_missing_markers():
    df = read("a,b\n" + "".join(f"{m},x\n" for m in ["NA", "N/A", "NaN", "null", "None", "#N/A", "", "5"]))
    assert df["a"].isna().sum() == 7 and df["a"].iloc[-1] == 5


def test_excel_text_has_the_same_missing_markers_as_csv():
    from pandas._libs.parsers import STR_NA_VALUES
    assert table_io._MISSING == set(STR_NA_VALUES)


# --- encodings ---

@pytest.mark.parametrize("encoding,bom,said", [("utf-8", b"", ""), ("utf-8", codecs.BOM_UTF8, ""), ("utf-16-le", codecs.BOM_UTF16_LE, "UTF-16-LE"),
                                               ("utf-16-be", codecs.BOM_UTF16_BE, "UTF-16-BE"), ("utf-16-le", b"", "UTF-16-LE"),
                                               ("utf-16-be", b"", "UTF-16-BE"), ("utf-32-le", codecs.BOM_UTF32_LE, "UTF-32-LE"),
                                               ("cp1252", b"", "Windows-1252"), ("latin-1", b"", "Windows-1252")])
def test_encodings(encoding, bom, said):
    df = read(bom + 'naïve,b\n"Müller, é",1\nx,2\n'.encode(encoding))
    assert list(df.columns) == ["naïve", "b"] and rows(df) == [["Müller, é", 1], ["x", 2]]
    assert said in notes(df) and (said or df.attrs["notes"] == [])


def test_utf16_tsv_as_excel_exports_unicode_text():
    df = read("a\tb\r\nЖ\t1,5\r\nЩ\t2,5\r\n".encode("utf-16"), "a.txt")
    assert rows(df) == [["Ж", 1.5], ["Щ", 2.5]]


def test_euro_sign_and_undefined_bytes():
    assert rows(read("a,b\n5 €,1\n".encode("cp1252"))) == [["5 €", 1]]
    assert "Latin-1" in notes(read(b"a,b\n\x81\xe9,1\n"))


def test_mostly_utf8_keeps_its_letters():
    df = read(b"name,n\n" + "Müller,1\n".encode() * 30 + b"M\xfcller,2\n")
    assert df["name"][0] == "Müller" and df["name"][30] == "M�ller" and "not valid UTF-8" in notes(df)


def test_zero_bytes_and_end_mark():
    df = read(b"a,b\n1,x\0y\n2,z\n\x1a")
    assert rows(df) == [[1, "xy"], [2, "z"]] and "1 zero byte" in notes(df)


# --- layout ---

def test_bom_and_quoted_header():
    df = read(codecs.BOM_UTF8 + b'"a","b"\n1,2\n')
    assert list(df.columns) == ["a", "b"]


@pytest.mark.parametrize("text", ["sep=;\na;b\n1;2,5\n", "SEP=;\r\na;b\r\n1;2,5\r\n"])
def test_sep_line(text):
    df = read(text)
    assert rows(df) == [[1, 2.5]] and list(df.columns) == ["a", "b"]


@pytest.mark.parametrize("top", [
    "\n\n", "\r\n \r\n", "Report 2024\n\n", "# made by x\n# on, Monday\n", "Report, 2024\n\n\n", "Title,,\n", "Quarterly figures\n",
    "Title,,\n,,\nSubtitle,,\n", " \n"])
def test_lines_above_the_header(top):
    df = read(top + "a,b,c\n1,2,x\n3,4,y\n5,6,z\n")
    assert list(df.columns) == ["a", "b", "c"] and rows(df) == [[1, 2, "x"], [3, 4, "y"], [5, 6, "z"]]
    two = read(top.replace(",,", ",") + "a,b\n1,2\n3,4\n") if not top.strip() else None
    assert two is None or rows(two) == [[1, 2], [3, 4]]
    assert bool(top.strip()) == ("above the header" in notes(df))


def test_header_that_starts_with_a_hash():
    assert list(read("#id,name\n1,x\n2,y\n").columns) == ["#id", "name"]


@pytest.mark.parametrize("text,n", [("x\n1\n2\n3\n", 3), ("numbers\n1.5\n2.5", 2), ("1\n2\n3", 2), ('"q"\n"a,b"\n"c"\n', 2)])
def test_one_column(text, n):
    df = read(text)
    assert df.shape == (n, 1)


def test_one_column_of_prose_is_not_split():
    for cells in (["hello, world", "fine", "a; b"], ["Smith, John", "Doe, Jane"], ["well, yes, no", "no", "so, so", "it is"]):
        df = read("comment\n" + "\n".join(cells) + "\n")
        assert df.columns.tolist() == ["comment"] and df["comment"].tolist() == cells


def test_one_column_that_might_be_several_is_noted():
    assert "only one column: if spaces" in notes(read("h\n0.1 0.2 0.3\n0.4 0.5 0.6\n"))
    assert "only one column: if each line" in notes(read('"a,b,c"\n"1,2,3"\n"4,5,6"\n'))
    assert read('"a,b"\n"1,2"\n"word"\n').attrs["notes"] == []


def test_pipes_and_semicolons_inside_cells_do_not_mislead():
    df = read("id,genres,note\n" + "".join(f"{i},Action|Drama|War,a; b\n" for i in range(30)))
    assert df.shape == (30, 3) and df["genres"][0] == "Action|Drama|War"


def test_delimiter_is_judged_over_many_lines():
    df = read("a;b;c\n" + "1,2;3;x\n" * 3 + "1;2;x,y,z\n" * 40)
    assert df.shape == (43, 3)


def test_ragged_lines():
    df = read("a,b,c\n1,2,3\n4\n5,6\n7,8,9,10,11\n")
    assert rows(df) == [[1, 2, 3], [4, None, None], [5, 6, None], [7, 8, 9]]
    assert "2 lines had fewer" in notes(df) and "1 line had more" in notes(df)


def test_ragged_lines_with_quotes_and_blank_lines():
    df = read('a,b,c\n"x,1",2,3\n\n4\n"y\nz",8,9,10\n')
    assert rows(df) == [["x,1", 2, 3], ["4", None, None], ["y\nz", 8, 9]]
    assert "1 line had fewer" in notes(df) and "1 line had more" in notes(df) and "1 empty line" in notes(df)


def test_short_header():
    df = read("x,y\nAnn,1,2\nBob,3,4\nCid,5,6\n")  # R's row names
    assert df.columns.tolist() == ["column_1", "x", "y"] and df["y"].tolist() == [2, 4, 6]
    df = read('"x","y"\n"1",5,2\n"2",7,4\n"3",9,6\n')  # R's default row names
    assert df.columns.tolist() == ["x", "y"]


@pytest.mark.parametrize("head", ["a,b", "a,b,"])
def test_trailing_delimiters(head):
    df = read(head + "\n1,2,\n3,4,\n5,6,\n")
    assert rows(df) == [[1, 2], [3, 4], [5, 6]] and "empty column" in notes(df)


def test_trailing_empty_rows():
    df = read("a,b\r\n1,2\r\n3,\r\n,\r\n,\r\n\r\n")
    assert rows(df) == [[1, 2], [3, None]] and "2 empty rows at the end" in notes(df)


def test_names():
    df = read("a,a, b ,,a_2,a\n1,2,3,4,5,6\n")
    assert df.columns.tolist() == ["a", "a_3", "b", "column_4", "a_2", "a_4"]
    assert all(change in notes(df) for change in ("'a' is now 'a_3'", "' b ' is now 'b'", "column 4 is now 'column_4'"))
    assert read("name,name\n1,2\n").columns.tolist() == ["name", "name_2"]


@pytest.mark.parametrize("text", [",a\n0,5\n1,6\n2,7\n", ",a\n1,5\n2,6\n3,7\n", "Unnamed: 0,a\n0,5\n1,6\n2,7\n", '"",a\n0,5\n1,6\n2,7\n'])
def test_row_numbers_are_dropped(text):
    df = read(text)
    assert df.columns.tolist() == ["a"] and "counts the rows" in notes(df)


def test_other_first_columns_are_kept():
    assert read(",a\n0,5\n2,6\n").columns.tolist() == ["column_1", "a"]
    assert read("id,a\n0,5\n1,6\n").columns.tolist() == ["id", "a"]


def test_numbers_for_a_header_are_noted():
    df = read("1,2.5\n3,4.5\n")
    assert df.shape == (1, 2) and "column name is a number" in notes(df)


def test_quotes_inside_unquoted_cells():
    df = read('size,n\n5" pipe,1\n6" pipe,2\n7,3\n')
    assert rows(df) == [['5" pipe', 1], ['6" pipe', 2], ["7", 3]]


def test_quotes_that_never_close():
    df = read('a,b\n"x,1\ny,2\nz,3\n')
    assert rows(df) == [['"x', 1], ["y", 2], ["z", 3]] and "Quotes" in notes(df)
    df = read('a,b\n1,"x\n2,"y"\n3,"z"\n')
    assert rows(df) == [[1, '"x'], [2, "y"], [3, "z"]]


def test_single_quotes():
    assert rows(read("'a','b'\n'x,y',1\n'it is',2\n")) == [["x,y", 1], ["it is", 2]]
    assert rows(read("a,b\n1,'x'\n2,'y'\n")) == [[1, "x"], [2, "y"]]
    assert rows(read("a,b\n1,it's\n2,'tis\n")) == [[1, "it's"], [2, "'tis"]]


def test_backslash_quotes():
    df = read('a,b\n"say \\"a, b\\"",1\n"c",2\n"d",3\n')
    assert rows(df)[0] == ['say "a, b"', 1]


def test_spaces_after_delimiters():
    df = read('a, b, c\n1, x, "p, q"\n2, NA, "r"\n')
    assert rows(df) == [[1, "x", "p, q"], [2, None, "r"]] and df.columns.tolist() == ["a", "b", "c"]


def test_long_cells_and_many_columns():
    long = "x" * 400_000
    df = read(f'a,b\n"{long}",1\ny,2\n')
    assert df["a"][0] == long
    n = 5000
    df = read(",".join(f"c{i}" for i in range(n)) + "\n" + ",".join("1" for _ in range(n)) + "\n")
    assert df.shape == (1, n)


@pytest.mark.parametrize("cell", [
    "1" * 300_000 + "x", " " * 300_000 + ",5", "a " + "1" * 300_000, "-" + "0" * 300_000 + "'", '""' * 100_000, "'" * 200_000, "\\" * 200_000])
def test_odd_long_cells_take_no_time(cell):
    quoted = cell.replace('"', '""')
    started = process_time()
    for text in (f'a,b\n"{quoted}",1\n"{quoted}",2\n', f"a\n{cell}\n{cell}\n", f'{cell};b\n1;2\n'): outcome(text.encode(), "a.csv")
    back(pd.DataFrame({"a": [cell], "b": [1]}), "a.csv", formula_safe=True)
    assert process_time() - started < 10


def test_text_named_as_something_else():
    assert read("a\tb\n1\t2\n3\t4\n", "export.xls").shape == (2, 2)
    assert read("a,b\n1,2\n3,4\n", "a.csv.gz").shape == (2, 2)


# --- types ---

def test_leading_zeros_stay_text():
    df = read('zip,id,n,f,signed\n01067,7,10,0.5,-05\n80331,8,0,00.25,3\n"00501",9,20,1,4\n')
    assert df["zip"].tolist() == ["01067", "80331", "00501"] and df["signed"].tolist() == ["-05", "3", "4"]
    assert [str(df[c].dtype) for c in ("id", "n", "f")] == ["int64", "int64", "float64"]


def test_leading_zero_in_the_first_cell_or_far_down():
    assert read("a\n007\n8\n")["a"].tolist() == ["007", "8"]
    df = read("a,b\n" + "1,2\n" * 5000 + "3,04\n")
    assert df["b"].iloc[-1] == "04" and df["b"].iloc[0] == "2" and df["a"].dtype == "int64"


def test_leading_zeros_with_missing_cells():
    df = read("a,b\n007,1\n,2\nNA,3\n")
    assert df["a"].tolist()[0] == "007" and df["a"].isna().tolist() == [False, True, True]


def test_huge_integers():
    df = read("a,b,c,d\n99999999999999999999,9007199254740993,18446744073709551615,1\n1,,2,\n")
    assert df["a"].tolist() == ["99999999999999999999", "1"] and df["c"].tolist() == ["18446744073709551615", "2"]
    assert str(df["b"].dtype) == "Int64" and df["b"][0] == 9007199254740993 and pd.isna(df["b"][1])
    assert df["d"].dtype == "float64"


def test_floats_are_exact():
    values = np.random.default_rng(0).normal(size=2000) * 10.0 ** np.random.default_rng(1).integers(-300, 300, 2000)
    assert (read("a\n" + "\n".join(map(repr, values.tolist())))["a"].to_numpy() == values).all()


def test_booleans_with_holes():
    df = read("a,b\nTRUE,1\n,2\nfalse,3\n")
    assert str(df["a"].dtype) == "boolean" and df["a"].tolist()[::2] == [True, False]


def test_one_type_per_column_in_long_files():
    df = read("a\n" + "1\n" * 400_000 + "x\n")
    assert set(map(type, df["a"])) == {str}


def test_thousands_currency_and_percent_stay_text():
    df = read('a,b,c\n"1,234",$5,10%\n"12,345",$6,20%\n')
    assert rows(df) == [["1,234", "$5", "10%"], ["12,345", "$6", "20%"]]


@pytest.mark.parametrize("sep", [";", "\t", "|"])
def test_decimal_commas(sep):
    df = read(f"a{sep}b{sep}c\n3,14{sep}x{sep}1\n-2,5{sep}y{sep}\n1,0E-3{sep}z{sep}3\n")
    assert df["a"].tolist() == [3.14, -2.5, 0.001] and "Decimal commas" in notes(df) and "in a." in notes(df)


def test_decimal_commas_in_quotes_in_a_comma_file():
    assert read('a,b\n"3,14",x\n"2,7",y\n')["a"].tolist() == [3.14, 2.7]


def test_decimal_commas_with_dots_for_thousands():
    df = read("price;qty;rate;name\n1.234,56;1.234;0.5;a\n99,9;12.000;0.25;b\n1.000.000,00;7;1.5;c\n")
    assert df["price"].tolist() == [1234.56, 99.9, 1e6] and df["qty"].tolist() == [1234, 12000, 7] and df["rate"].tolist() == [0.5, 0.25, 1.5]


def test_ambiguous_commas():
    assert read("a\tb\n1,234\tx\n5,678\ty\n")["a"].tolist() == ["1,234", "5,678"]  # may be thousands
    assert read("a;b\n1,234;x\n5,678;y\n")["a"].tolist() == [1.234, 5.678]  # semicolons speak for decimals
    assert read("a\tb\n1,234\t0,5\n5,678\t1,5\n")["a"].tolist() == [1.234, 5.678]  # another column speaks for decimals


def test_decimal_comma_without_header_picks_the_semicolon():
    assert read("1,5;2,5;3,5\n4,5;5,5;6,5\n").shape == (1, 3)


# --- archives ---

@pytest.mark.parametrize("pack,name", [(gzip.compress, "a.csv.gz"), (bz2.compress, "a.csv.bz2"), (lzma.compress, "a.csv.xz"),
                                       (lambda b: archive({"a.csv": b}), "a.zip"), (gzip.compress, "misnamed.csv"),
                                       (lambda b: archive({"dir/": b"", "dir/a.csv": b, "__MACOSX/dir/._a.csv": b"junk", ".DS_Store": b"x"}), "a.zip"),
                                       (lambda b: archive({"a.csv.gz": gzip.compress(b)}), "a.zip")])
def test_archives(pack, name):
    assert rows(read(pack(b"a,b\n1,2\n3,4\n"), name)) == [[1, 2], [3, 4]]


def test_zip_with_a_readme_and_with_other_kinds():
    df = read(archive({"data.csv": "a\n1\n", "readme.txt": "hello"}), "a.zip")
    assert rows(df) == [[1]] and "data.csv was read" in notes(df)
    f = io.BytesIO()
    pd.DataFrame({"a": [1]}).to_parquet(f)
    assert rows(read(archive({"a.parquet": f.getvalue()}), "a.zip")) == [[1]]
    assert rows(read(archive({"a.xlsx": workbook([["a"], [1]])}), "a.zip")) == [[1]]


def test_archive_bombs_stop_at_the_limit():
    zeros = b"0," * 2_500_000
    for data, name in ((gzip.compress(zeros, 1), "a.gz"), (archive({"a.csv": zeros}), "a.zip"), (bz2.compress(zeros), "a.bz2")):
        refused(data, "more than 1 MB", name=name, max_bytes=10**6)
    nested = gzip.compress(gzip.compress(zeros, 1))
    refused(nested, "more than 1 MB", name="a.gz", max_bytes=10**6)
    bomb = workbook([["a"], ["x" * 30_000]] + [["x" * 30_000]] * 100)
    refused(bomb, "more than 1 MB", name="a.xlsx", max_bytes=10**6)


def test_broken_archives():
    text = b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * i % 97) for i in range(2000))
    for pack, name in ((gzip.compress, "a.csv.gz"), (bz2.compress, "a.bz2"), (lzma.compress, "a.xz"), (lambda b: archive({"a.csv": b}), "a.zip")):
        good = pack(text)
        assert len(read(good, name)) == 2000
        refused(good[: len(good) // 2], "damaged or truncated", name=name)
        broken = bytearray(good)
        for i in range(len(good) // 2, len(good) // 2 + 20): broken[i] ^= 0xFF
        refused(bytes(broken), "damaged", name=name)


def test_encrypted_and_crowded_zips():
    data = bytearray(archive({"a.csv": "a\n1\n"}))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    refused(bytes(data), "password", name="a.zip")
    refused(archive({"a.csv": "a", "b.csv": "b"}), "several tables", "a.csv, b.csv", name="a.zip")
    refused(archive({}), "without a file", name="a.zip")
    refused(archive({"dir/": ""}), "without a file", name="a.zip")
    data = b"a\n1\n"
    for _ in range(5): data = gzip.compress(data)
    refused(data, "archive in an archive", name="a.gz")


# --- refusals ---

@pytest.mark.parametrize("data,words", [
    (b"", ["is empty"]), (b"\n\n  \n", ["is empty"]), (codecs.BOM_UTF8, ["is empty"]), (b"\0\0\0\0\0\0\0\0", ["binary"]),
    (b"a,b\n", ["no rows"]), (b"a,b", ["no rows"]), (b"a\n\n\n", ["no rows"]), (b"a,b\n,\n,\n", ["no rows"]), (b"sep=;\na;b\n", ["no rows"]),
    (b"<!DOCTYPE html><html><body>404</body></html>", ["web page"]), (b"\n <HTML>\n<p>x</p>", ["web page"]),
    (b"<table><tr><td>1</td></tr></table>", ["web page"]),
    (b'<?xml version="1.0"?><a/>', ["XML"]), (b'[{"a": 1}, {"a": 2}]', ["JSON"]), (b'{\n  "a": [1, 2]\n}', ["JSON"]), (b'{"a": 1}\n{"a": 2}\n', ["JSON"]),
    (b"[1, 2, 3]", ["JSON"]), (b"%PDF-1.7\n%\xe2\xe3\n", ["PDF"]), (b"\x89PNG\r\n\x1a\n\0\0", ["image"]), (b"\xff\xd8\xff\xe0\0\x10JFIF", ["image"]),
    (b"GIF89a\0\0", ["image"]), (b"SQLite format 3\0abc", ["SQLite"]), (b"7z\xbc\xaf\x27\x1c", ["archive"]), (b"{\\rtf1 x}", ["rich text"]),
    (b"% iris\n@RELATION iris\n@DATA\n1,2\n", ["ARFF"]),
    (b"\x80\x04\x95\x00.", ["pickle"]), (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), [".xls", ".xlsx"]),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le"), ["password"]),
    (np.random.default_rng(0).bytes(10_000), ["binary data", "supported are CSV"]), (bytes(range(256)) * 4, ["binary"])])
def test_not_a_table(data, words): refused(data, *words)


def test_wrong_names():
    refused("hello there", "supported are", name="a.parquet")
    refused("# Title\nSome words\n", "supported are", name="readme.md")
    refused(archive({"[Content_Types].xml": "x", "word/document.xml": "x"}), "Word", name="a.docx")
    refused(archive({"mimetype": "x", "content.xml": "x"}), "OpenDocument", name="a.ods")
    refused(archive({"[Content_Types].xml": "x", "xl/workbook.bin": "x"}), ".xlsb", name="a.xlsb")


def test_limits():
    text = "a,b\n" + "1,2\n" * 10
    assert len(read(text, max_rows=10, max_columns=2, max_bytes=len(text))) == 10
    refused(text, "more than 9 rows", max_rows=9)
    refused(text, "2 columns", "at most 1", max_columns=1)
    refused(text, "more than 43 bytes", max_bytes=43)
    packed = gzip.compress(text.encode())
    assert len(read(packed, max_bytes=len(text))) == 10
    book = workbook([["a", "b"]] + [[1, 2]] * 10)
    assert len(read(book, "a.xlsx", max_rows=10, max_columns=2)) == 10
    refused(book, "more than 9 rows", name="a.xlsx", max_rows=9)
    refused(book, "2 columns", name="a.xlsx", max_columns=1)
    f = io.BytesIO()
    pd.DataFrame({"a": range(10), "b": 1}).to_parquet(f)
    assert len(read(f.getvalue(), "a.parquet", max_rows=10, max_columns=2, max_bytes=10**5)) == 10
    refused(f.getvalue(), "more than 9 rows", name="a.parquet", max_rows=9)
    refused(f.getvalue(), "2 columns", name="a.parquet", max_columns=1)
    refused(f.getvalue(), "more than", name="a.parquet", max_bytes=100)


def test_empty_rows_beyond_the_limit_do_not_hide_data():
    refused("a,b\n1,2\n,\n3,4\n", "more than 2 rows", max_rows=2)
    assert len(read("a,b\n1,2\n3,4\n,\n,\n", max_rows=2)) == 2


def test_bad_paths(tmp_path):
    for source, word in ((tmp_path / "no.csv", "not found"), (tmp_path, "folder"), ("https://example.org/a.csv", "download"), ("a\0b.csv", "null"),
                         (42, "int"), (None, "NoneType"), (pd.DataFrame(), "DataFrame"), ("x" * 5000 + ".csv", "could not be read")):
        with pytest.raises(TableError, match=word): read_table(source)
    closed = io.BytesIO(b"a\n1\n")
    closed.close()
    with pytest.raises(TableError, match="closed"): read_table(closed)


@pytest.mark.skipif(os.name == "nt" or getattr(os, "geteuid", lambda: 1)() == 0, reason="a superuser may read everything")
def test_unreadable_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n")
    path.chmod(0)
    with pytest.raises(TableError, match="permission"): read_table(path)


# --- Excel ---

def test_excel_types():
    df = read(workbook([["i", "f", "s", "b", "d", "hole", "mixed", "code"], [1, 1.5, "x", True, datetime(2024, 1, 2), 1, 1, "007"],
                        [2, 2, "y", False, datetime(2024, 5, 6, 7, 8, 9), None, "n", "008"]]), "a.xlsx")
    assert [str(t) for t in df.dtypes] == ["int64", "float64", "object", "bool", "datetime64[ns]", "float64", "object", "object"]
    assert df["mixed"].tolist() == ["1", "n"] and df["code"].tolist() == ["007", "008"] and df.attrs["notes"] == []


def test_excel_times_old_dates_and_errors():
    df = read(workbook([["t", "far", "e"], [time(8, 30), datetime(9999, 12, 31), "#DIV/0!"], [time(9, 0), datetime(2000, 1, 1), 5]]), "a.xlsx")
    assert df["t"].tolist() == ["08:30:00", "09:00:00"] and df["e"].tolist()[1] == 5 and pd.isna(df["e"][0])
    assert df["far"].tolist()[0] == "9999-12-31 00:00:00"


def test_excel_blank_rows_titles_and_columns():
    df = read(workbook([[], [None, "Report"], [], [None, "a", "b"], [None, 1, "x"], [], [None, 2, "y"], [], []]), "a.xlsx")
    assert df.columns.tolist() == ["a", "b"] and rows(df) == [[1, "x"], [None, None], [2, "y"]]
    assert "above the header" in notes(df)


def test_excel_merged_header():
    book = openpyxl.Workbook()
    s = book.active
    for r in (["Region", "Sales", None, "Costs", None], ["Name", "Q1", "Q2", "Q1", "Q2"], ["North", 1, 2, 3, 4], ["South", 5, 6, 7, 8]): s.append(r)
    s.merge_cells("B1:C1")
    s.merge_cells("D1:E1")
    f = io.BytesIO()
    book.save(f)
    df = read(f.getvalue(), "a.xlsx")
    assert df.columns.tolist() == ["Region Name", "Sales Q1", "Sales Q2", "Costs Q1", "Costs Q2"] and len(df) == 2


def test_excel_header_with_a_gap_is_not_joined():
    df = read(workbook([["name", "age", None, "town"], ["Ann", "unknown", "x", "Rome"], ["Bob", 5, "y", "Oslo"], ["Cid", 7, "x", "Rome"]]), "a.xlsx")
    assert df.columns.tolist() == ["name", "age", "column_3", "town"] and len(df) == 3


def test_excel_formatted_but_empty_cells():
    book = openpyxl.Workbook()
    s = book.active
    s.append(["a", "b"])
    s.append([1, 2])
    s["Z5000"].font = openpyxl.styles.Font(bold=True)
    f = io.BytesIO()
    book.save(f)
    df = read(f.getvalue(), "a.xlsx", max_rows=1, max_columns=2)
    assert df.shape == (1, 2)


def test_excel_index_column_of_pandas(tmp_path):
    pd.DataFrame({"a": [5, 6]}).to_excel(tmp_path / "a.xlsx")
    assert read_table(tmp_path / "a.xlsx").columns.tolist() == ["a"]


def test_excel_sheets():
    data = workbook([["a"], [1]], title="First", Second=[["b"], [2]], Empty=[])
    assert read(data, "a.xlsx").columns.tolist() == ["a"] and "'First' was read" in notes(read(data, "a.xlsx"))
    assert read(data, "a.xlsx", sheet="Second").columns.tolist() == read(data, "a.xlsx", sheet=1).columns.tolist() == ["b"]
    refused(data, "no sheet 'Third'", "First, Second, Empty", name="a.xlsx", sheet="Third")
    refused(data, "no sheet number 7", "First, Second, Empty", name="a.xlsx", sheet=7)
    refused(data, "no rows", "First, Second, Empty", name="a.xlsx", sheet="Empty")


def test_excel_refusals():
    refused(workbook([]), "no rows", name="a.xlsx")
    refused(workbook([["a", "b"]]), "no rows", name="a.xlsx")
    good = workbook([["a", "b"]] + [[i, str(i)] for i in range(500)])
    refused(good[: len(good) // 2], "damaged", name="a.xlsx")
    with zipfile.ZipFile(io.BytesIO(good)) as z: parts = {n: z.read(n) for n in z.namelist()}
    refused(archive(parts | {"xl/workbook.xml": b"<broken"}), "damaged workbook", name="a.xlsx")
    refused(archive(parts | {"xl/worksheets/sheet1.xml": parts["xl/worksheets/sheet1.xml"][:300]}), "damaged workbook", name="a.xlsx")
    book = openpyxl.Workbook()
    book.create_chartsheet("Chart", 0).add_chart(openpyxl.chart.BarChart())
    f = io.BytesIO()
    book.save(f)
    refused(f.getvalue(), "chart", "Sheet", name="a.xlsx")


# --- Parquet ---

def parquet(table, **options):
    f = io.BytesIO()
    pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), f, **options)
    return f.getvalue()


def test_parquet_types():
    df = read(parquet({"big": [2**60 + 1, None], "u": pa.array([2**63 + 5, 1], pa.uint64()), "b": [True, None], "l": [[1], None], "n": pa.nulls(2),
                       "t": [time(1, 2), None], "y": [b"abc", None], "d": [Decimal("1.50"), None], "day": [date(2024, 1, 2), None],
                       "s": [{"k": 1}, None], "small": pa.array([1, None], pa.int8()), "c": pa.array(["x", "y"]).dictionary_encode()}), "a.parquet")
    assert df["big"][0] == 2**60 + 1 and df["u"].tolist() == [str(2**63 + 5), "1"] and str(df["b"].dtype) == "boolean"
    assert df["l"][0] == "[1]" and df["t"][0] == "01:02:00" and df["y"][0] == "abc" and df["s"][0] == '{"k": 1}'
    assert df["n"].dtype == "float64" and df["d"][0] == Decimal("1.50") and df["small"][0] == 1 and df["c"].tolist() == ["x", "y"]
    assert df.iloc[1].drop(["u", "c"]).isna().all()


def test_parquet_index_and_names(tmp_path):
    df = pd.DataFrame({"a": [1, 2, 3]})
    df[df.a > 1].to_parquet(tmp_path / "a.parquet")
    back = read_table(tmp_path / "a.parquet")
    assert back["a"].tolist() == [2, 3] and isinstance(back.index, pd.RangeIndex) and "index" in notes(back)
    df.set_axis(pd.Index(["x", "y", "z"], name="key")).to_parquet(tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").columns.tolist() == ["key", "a"]
    double = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([2**60])], names=["a", "a", " "])
    assert read(parquet(double), "a.parquet").columns.tolist() == ["a", "a_2", "column_3"]
    pd.DataFrame({"a": [1]}).rename(columns={"a": 0}).to_parquet(tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").columns.tolist() == ["0"]


def test_parquet_text_is_left_alone():
    df = read(parquet({"a": ["NA", "", "007", "3,14"]}), "a.parquet")
    assert df["a"].tolist() == ["NA", "", "007", "3,14"]


def test_parquet_refusals():
    good = parquet({"a": list(range(1000))})
    refused(good[:-30], "damaged Parquet", name="a.parquet")
    refused(good[: len(good) // 2], "damaged Parquet", name="a.parquet")
    refused(good[:60] + bytes(40) + good[100:], name="a.parquet")
    refused(parquet({"a": pa.array([], pa.int64())}), "no rows", name="a.parquet")
    refused(b"PAR1" + bytes(50), "damaged Parquet", name="a.csv")
    assert read("PAR1,PARENT\n1,2\n").shape == (1, 2)


# --- writing ---

KINDS = ["a.csv", "a.tsv", "a.txt", "a.csv.gz", "a.tsv.zip", "a.zip", "a.csv.bz2", "a.csv.xz", "a.parquet", "a.xlsx"]


def back(df, name, **options):
    f = io.BytesIO()
    write_table(df, f, name=name, **options)
    return read_table(io.BytesIO(f.getvalue()), name=name)


def same(got, want):
    "Equal names and values, missing where missing."
    assert got.columns.tolist() == want.columns.tolist() and got.shape == want.shape
    for i in range(want.shape[1]):
        g, w = got.iloc[:, i], want.iloc[:, i]
        assert g.isna().tolist() == w.isna().tolist(), (g.tolist(), w.tolist())
        assert [v for v in g if not pd.isna(v)] == [v for v in w if not pd.isna(v)], (g.tolist(), w.tolist())


SIMPLE = pd.DataFrame({"n": [1, 2, 3], "f": [0.1, np.nan, 1e-300], "t": ["a", None, 'x,"y"\n;|\tz'], "b": [True, False, True]})


@pytest.mark.parametrize("name", KINDS)
def test_write_to_paths(tmp_path, name):
    write_table(SIMPLE, tmp_path / name)
    write_table(SIMPLE, str(tmp_path / name))
    same(read_table(tmp_path / name), SIMPLE)
    assert os.listdir(tmp_path) == [name]


cells = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cn")) | st.sampled_from(list(" \n\r\t\"',;|=+-@#\\_x0.:/<>{}[]%")), min_size=1, max_size=8)
label = cells.filter(lambda t: t not in table_io._MISSING and t not in table_io._EXCEL_ERRORS)
header = st.text(st.characters(categories=("L", "N")) | st.sampled_from(list(" \"',;|=#_<'\n-.")), min_size=1, max_size=6).map(str.strip).filter(bool)


@st.composite
def frames(draw):
    "Tables of every kind of column that a text file can tell apart, with holes."
    names = draw(st.lists(header, min_size=1, max_size=5, unique=True).filter(lambda n: n[0] != "Unnamed: 0"))
    n = draw(st.integers(1, 14))
    kinds = st.sampled_from(["text", "int", "float", "bool", "big", "code"])
    columns = {}
    for name in names:
        kind, hole = draw(kinds), draw(st.booleans())
        value = {"text": label, "int": st.integers(-10**6, 10**6), "float": st.floats(allow_nan=False, allow_infinity=False),
                 "bool": st.booleans(), "big": st.integers(-2**63, 2**63 - 1), "code": st.integers(0, 99).map(lambda i: f"0{i}")}[kind]
        values = draw(st.lists(value, min_size=n, max_size=n))
        # a text column that holds nothing but numbers, say, has no way to say so in CSV
        if kind == "text": values[draw(st.integers(0, n - 1))] = "word"
        holes = [hole and i > 0 and draw(st.booleans()) for i in range(n)]
        if kind == "text" and all(h or v != "word" for h, v in zip(holes, values, strict=True)): values[0] = "word"
        dtype = {"int": "Int64", "big": "Int64", "bool": "boolean", "float": "float64"}.get(kind, object)
        columns[name] = pd.Series([None if h else v for h, v in zip(holes, values, strict=True)], dtype=dtype)
    return pd.DataFrame(columns)


@given(df=frames(), name=st.sampled_from(KINDS))
def test_what_is_written_reads_back(df, name):
    if name == "a.xlsx": df = df.loc[:df.notna().any(axis=1)[::-1].idxmax()]  # a sheet cannot tell empty rows at its end from no rows
    same(back(df, name), df)


@given(df=frames())
def test_parquet_keeps_types_too(df): pd.testing.assert_frame_equal(back(df, "a.parquet"), df)


@given(values=st.lists(label, min_size=1, max_size=12), name=header, kind=st.sampled_from(["a.csv", "a.tsv"]))
def test_a_single_column_reads_back(values, name, kind):
    df = pd.DataFrame({name: ["word", *values]})
    same(back(df, kind), df)


@pytest.mark.parametrize("values", [["|", "\r'"], ["a;b;c", "'x'"], ['\\"', "|"], [",", '"', "\\"], ["# x", "a,b,c", "d,e,f", "g,h,i"]])
def test_odd_single_columns_read_back(values):
    for name in ("|", "a,b,c", "'q'", "x"): same(back(pd.DataFrame({name: ["word", *values]}), "a.csv"), pd.DataFrame({name: ["word", *values]}))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_excel_keeps_all_digits(values): assert back(pd.DataFrame({"a": values}), "a.xlsx")["a"].tolist() == values


def test_rows_with_nothing_in_them_read_back():
    for name in KINDS:
        df = pd.DataFrame({"a": [1.0, np.nan, np.nan], "b": ["x", None, None]})
        if name == "a.xlsx": df = df.head(1)  # a sheet has no way to say so
        same(back(df, name), df)
    same(back(pd.DataFrame({"a": ["x", None, "y", None]}), "a.csv"), pd.DataFrame({"a": ["x", None, "y", None]}))


def test_excel_special_cells():
    df = pd.DataFrame({"t": ["=1+1", "a\rb", "a\x01b", "_x000D_", " pad ", "+5", "@x", "line\nbreak", "#word"]})
    same(back(df, "a.xlsx"), df)
    stamps = pd.Series(pd.to_datetime(["2024-01-02 03:04:05", None]))
    assert back(pd.DataFrame({"d": stamps, "n": 1}), "a.xlsx")["d"].dtype == "datetime64[ns]"
    same(back(pd.DataFrame({"d": stamps, "n": 1}), "a.xlsx"), pd.DataFrame({"d": stamps, "n": 1}))
    odd = pd.DataFrame({"z": stamps.dt.tz_localize("Europe/Berlin"), "old": pd.to_datetime(["1815-06-18", None]), "fine": stamps + pd.Timedelta(1, "us"),
                        "inf": [np.inf, 1.0], "delta": pd.to_timedelta([1, None], "D"), "obj": [Decimal("1.5"), date(2024, 1, 2)],
                        "c": pd.Categorical(["u", None])})
    got = back(odd, "a.xlsx")
    assert got.iloc[0].tolist() == ["2024-01-02 03:04:05+01:00", "1815-06-18 00:00:00", "2024-01-02 03:04:05.000001", "inf", "1 days 00:00:00", "1.5", "u"]
    assert back(pd.DataFrame({"d": pd.Series([datetime(1815, 6, 18), "x"], dtype=object)}), "a.xlsx")["d"].tolist() == ["1815-06-18 00:00:00", "x"]
    assert got.loc[1, ["z", "old", "fine", "delta", "c"]].isna().all()


def test_excel_limits():
    with pytest.raises(TableError, match="32,767"): back(pd.DataFrame({"a": ["x" * 40_000]}), "a.xlsx")
    with pytest.raises(TableError, match="16,384 columns"): back(pd.DataFrame(np.zeros((1, 16_385))), "a.xlsx")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.xlsx"])
def test_formulas_are_defused(name):
    bad = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1"]
    fine = ["-5", "+3.2", "a=b", "-1e5", "", "x"]
    df = pd.DataFrame({"=evil": bad + fine, "-1": pd.Categorical(bad + fine), "n": range(-6, 6)})
    got = back(df, name, formula_safe=True)
    assert got.columns.tolist() == ["'=evil", "-1", "n"]
    for c in ("'=evil", "-1"): assert got[c].fillna("").tolist() == ["'" + t for t in bad] + fine
    assert got["n"].tolist() == list(range(-6, 6))
    assert back(df, name)["=evil"].tolist()[0] == "=1+1" and df.columns[0] == "=evil" and df["=evil"][0] == "=1+1"


def test_formula_safe_leaves_parquet_alone():
    assert back(pd.DataFrame({"a": ["=1"]}), "a.parquet", formula_safe=True)["a"].tolist() == ["=1"]


def test_mixed_columns_into_parquet():
    df = pd.DataFrame({"m": [1, "a", None, 2.5], "o": [object, 1, {1}, None], "s": ["\ud800", "x", "y", "z"], "c": pd.Categorical([1, "a", None, 1])})
    got = back(df, "a.parquet")
    assert got["m"].tolist() == ["1", "a", None, "2.5"] and got["s"].tolist() == ["?", "x", "y", "z"] and got["c"].tolist()[:2] == ["1", "a"]
    with pytest.raises(TableError, match="repeated"): back(pd.DataFrame([[1, 2]], columns=["a", "a"]), "a.parquet")
    assert back(pd.DataFrame([[1, 2]], columns=["a", "a"]), "a.csv").columns.tolist() == ["a", "a_2"]


def test_surrogates_do_not_break_text():
    assert back(pd.DataFrame({"a": ["\ud800", "x"]}), "a.csv")["a"].tolist() == ["?", "x"]
    assert len(back(pd.DataFrame({"a": ["\ud800", "x"]}), "a.xlsx")) == 2


def test_write_refusals(tmp_path):
    for target, word in ((tmp_path / "a.doc", "should end in"), (tmp_path / "a", "should end in"), (tmp_path / "no" / "a.csv", "could not be written")):
        with pytest.raises(TableError, match=word): write_table(SIMPLE, target)
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(TableError, match="folder"): write_table(SIMPLE, tmp_path / "d.csv")
    with pytest.raises(TableError, match="DataFrame"): write_table([1], tmp_path / "a.csv")
    with pytest.raises(TableError, match="no columns"): write_table(pd.DataFrame(), tmp_path / "a.csv")
    with pytest.raises(TableError, match="binary"): write_table(SIMPLE, io.StringIO(), name="a.parquet")


def test_writing_is_all_or_nothing(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    write_table(SIMPLE, path)
    before = path.read_bytes()
    def broken(*_): raise OSError(28, "No space left on device")
    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(TableError, match="No space left"): write_table(SIMPLE.head(1), path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions and links")
def test_written_files_are_ordinary(tmp_path):
    write_table(SIMPLE, tmp_path / "a.csv")
    (tmp_path / "b").write_text("")
    assert stat.S_IMODE((tmp_path / "a.csv").stat().st_mode) == stat.S_IMODE((tmp_path / "b").stat().st_mode)
    (tmp_path / "link.csv").symlink_to(tmp_path / "a.csv")
    write_table(SIMPLE.head(1), tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink() and len(read_table(tmp_path / "a.csv")) == 1


def test_writing_leaves_no_notes_in_the_file_and_the_frame_alone():
    df = read("a;b\n1;2\n")
    got = back(df, "a.parquet")
    assert got.attrs == {"notes": []} and df.attrs["notes"]
    f = io.StringIO()
    write_table(df, f)
    assert f.getvalue() == "a,b\n1,2\n"


# --- anything at all ---

def outcome(data, name):
    "A frame, or a TableError; anything else fails the test."
    try: df = read(data, name, max_rows=10_000, max_columns=2000, max_bytes=10**7)
    except TableError as e:
        assert "\n" not in str(e)
        return
    assert isinstance(df.index, pd.RangeIndex) and len(df) and df.columns.is_unique and all(isinstance(c, str) and c for c in df.columns)
    assert all(isinstance(n, str) and "\n" not in n.strip() for n in df.attrs["notes"])


names = st.sampled_from(["a.csv", "a.tsv", "a.xlsx", "a.parquet", "a.zip", "a.gz", "a", "a.json"])


@given(st.binary(max_size=300), names)
def test_any_bytes(data, name): outcome(data, name)


@given(st.text("ab01.,;|\t\n\r\"'\\ #-\ufeffé\0", max_size=80), st.sampled_from(["utf-8", "utf-16", "latin-1"]), names)
def test_any_text(text, encoding, name): outcome(text.encode(encoding, "replace"), name)


@given(st.data())
def test_damaged_files(data):
    good = data.draw(st.sampled_from(sorted(SAMPLES)))
    content = bytearray(SAMPLES[good])
    for _ in range(data.draw(st.integers(1, 8))): content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    outcome(bytes(content[: data.draw(st.integers(1, len(content)))] if data.draw(st.booleans()) else content), good)


SAMPLES = {}
for _name in KINDS:
    _f = io.BytesIO()
    write_table(pd.concat([SIMPLE] * 5), _f, name=_name)
    SAMPLES[_name] = _f.getvalue()


@given(st.lists(st.lists(st.text("ab,;\"'\n\r é", max_size=5), min_size=1, max_size=4), min_size=1, max_size=8), st.sampled_from(",;\t|"), st.integers(2, 9))
def test_fast_counting_agrees_with_csv(table, sep, step):
    import csv
    f = io.StringIO()
    csv.writer(f, delimiter=sep, lineterminator="\r\n", quoting=csv.QUOTE_ALL).writerows(table)
    body = f.getvalue().encode()
    assert table_io._fast_counts(body, table_io._Dialect(sep), step).tolist() == [len(r) for r in table]
    assert table_io._slow_counts(body, table_io._Dialect(sep)).tolist() == [len(r) for r in table]


# --- size ---

def big_csv(path, n):
    rng = np.random.default_rng(0)
    d = {f"f{i}": rng.normal(size=n).round(6) for i in range(12)} | {f"i{i}": rng.integers(-1000, 100_000, n) for i in range(8)}
    d |= {f"c{i}": rng.choice(["red", "green", "dark, blue", "it's \"ok\"", "grün"], n) for i in range(6)}
    d |= {"code": [f"{i:07d}" for i in range(n)], "ok": rng.random(n) < 0.5, "hole": np.where(rng.random(n) < 0.1, np.nan, 5), "word": "lorem ipsum"}
    pd.DataFrame(d).to_csv(path, index=False)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(sys.platform == "win32", reason="needs the resource module")
def test_a_million_rows_by_thirty_columns(tmp_path):
    import subprocess
    big_csv(tmp_path / "big.csv", 1_000_000)
    code = ("import time, resource, sys; from cdmd_nb.io import read_table; t = time.process_time(); df = read_table(sys.argv[1]); "
            "assert df.shape == (1_000_000, 30) and df['code'][5] == '0000005' and df.attrs['notes'] == []; "
            "print(time.process_time() - t, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)")
    seconds, memory = map(float, subprocess.run([sys.executable, "-c", code, tmp_path / "big.csv"], capture_output=True, text=True, check=True).stdout.split())
    assert seconds < 90 and memory < 6e6
