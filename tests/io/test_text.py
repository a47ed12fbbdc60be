"""Text tables: what pandas, R, Excel, NumPy and people write, and what is said about the rest."""

import csv
import gzip
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hne.exceptions import InputError
from hne.io import Coordinates, ReadOptions, read_table, write_coordinates

FRAME = pd.DataFrame({"a": [1.5, -2.25, np.nan], "b": [1, 2, 3], "kind": ["x", "y, z", None]})


def read(content, **choices):
    """Read text or bytes as from standard input."""
    stream = io.BytesIO(content if isinstance(content, bytes) else content.encode())
    return read_table("-", ReadOptions(**choices), stream)


def check_frame(table):
    """Check that it is FRAME."""
    np.testing.assert_array_equal(table.X, FRAME[["a", "b"]])
    assert table.feature_names == ("a", "b")
    assert table.labels["kind"].tolist() == ["x", "y, z", None]


def test_pandas_writes_an_index_or_none(tmp_path):
    FRAME.to_csv(tmp_path / "with.csv")
    with_index = read_table(tmp_path / "with.csv")
    check_frame(with_index)
    assert (with_index.ids, with_index.id_name) == (("0", "1", "2"), "id")
    assert with_index.notices == ("The first column has no name: it names the samples.", "Features: 'a', 'b'.")
    FRAME.to_csv(tmp_path / "without.csv", index=False)
    without = read_table(tmp_path / "without.csv")
    check_frame(without)
    assert without.ids is None
    assert without.notices == ("Features: 'a', 'b'.",)
    assert without.source == "text table, separator ',', header"


def test_pandas_names_columns_by_numbers_where_nobody_else_does():
    values = np.array([[0.5, 1.25], [3, 4]])
    for index in (True, False):
        table = read(pd.DataFrame(values).to_csv(index=index))
        np.testing.assert_array_equal(table.X, values)
        assert table.feature_names == ("0", "1")
        assert "taken for names, some of them numbers; header=False" in table.notices[0]


def test_years_are_names_beside_another():
    table = read("name,2019,2020\nPeru,1.5,2.5\nChile,2.5,3.5\n")
    assert table.feature_names == ("2019", "2020")
    assert "header=False" in table.notices[0]
    assert read("1,2,3\n4.5,5,6\n").X.shape == (2, 3)
    assert read("setosa,1,2\nversicolor,3.5,4\n").X.shape == (2, 2)


@pytest.mark.parametrize("content", [
    '"","a","b","kind"\n"1",1.5,1,"x"\n"2",-2.25,2,"y, z"\n"3",NA,3,NA\n',  # write.csv
    '"";"a";"b";"kind"\n"1";1,5;1;"x"\n"2";-2,25;2;"y, z"\n"3";NA;3;NA\n',  # write.csv2
    '"a" "b" "kind"\n"1" 1.5 1 "x"\n"2" -2.25 2 "y, z"\n"3" NA 3 NA\n',  # write.table
    '"a"\t"b"\t"kind"\n"1"\t1.5\t1\t"x"\n"2"\t-2.25\t2\t"y, z"\n"3"\tNA\t3\tNA\n',  # write.table(sep = "\t")
])  # fmt: skip
def test_r_names_its_rows(content):
    table = read(content)
    check_frame(table)
    assert table.ids == ("1", "2", "3")


@pytest.mark.parametrize(("encoding", "mark"), [("utf-8", b"\xef\xbb\xbf"), ("cp1252", b""), ("utf-16", b"")])
def test_excel_writes_semicolons_decimal_commas_and_umlauts(encoding, mark, tmp_path):
    text = "Größe;Länge;Stück\r\n1,5;2,25;Öl\r\n-3;4e2;Mühle\r\n;;\r\n"
    (tmp_path / "excel.csv").write_bytes(mark + text.encode(encoding))
    table = read_table(tmp_path / "excel.csv")
    np.testing.assert_array_equal(table.X, [[1.5, 2.25], [-3, 400]])
    assert table.feature_names == ("Größe", "Länge")
    assert table.labels["Stück"].tolist() == ["Öl", "Mühle"]
    assert "decimal comma" in table.source
    said = ["The text is no UTF-8 and was read as Windows-1252; `encoding` names another."]
    empty = "Left out 1 empty row at the end of the file."
    assert table.notices[:-1] == (*(said if encoding == "cp1252" else []), empty)


def test_excel_may_name_its_separator():
    table = read("sep=;\r\na;b\r\n1;2\r\n")
    assert table.feature_names == ("a", "b")


def test_numpy_comments_its_names():
    stream = io.BytesIO()
    np.savetxt(stream, [[1.5, 2], [3, 4]], header="made on Monday\nfirst,second", delimiter=",")
    table = read(stream.getvalue())
    assert table.feature_names == ("first", "second")
    stream = io.BytesIO()
    np.savetxt(stream, [[1.5, 2], [3, 4]], header="two numbers a row, of mine")
    table = read(stream.getvalue())
    assert table.feature_names == ("x1", "x2")
    np.testing.assert_array_equal(table.X, [[1.5, 2], [3, 4]])


@pytest.mark.parametrize(
    "content", ["1 2\n3 4\n", "  1   2\n 3\t4  \n", "1|2\n3|4\n", "1\t2\n3\t4", "1, 2\r3, 4\r", "\n1;2\n\n3;4\n\n"]
)
def test_separators_are_found(content):
    table = read(content)
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    assert table.feature_names == ("x1", "x2")
    assert table.notices == (
        "No header was found: columns are called x1, x2, ...; header=True says that there is one.",
    )


def test_the_user_knows_better_about_header_decimal_and_encoding():
    assert read("1,2\n3,4\n", header=True).feature_names == ("1", "2")
    assert read("a,2\nb,4\n", header=False).labels["x1"].tolist() == ["a", "b"]
    np.testing.assert_array_equal(read("a;b\n1,5;1\n", decimal=",").X, [[1.5, 1]])
    assert read("Ж,b\n1,2\n".encode("cp1251"), encoding="cp1251").feature_names == ("Ж", "b")
    assert read("a,b\n1,2\n".encode("utf-16-le"), encoding="utf-16-le").feature_names == ("a", "b")
    assert read("a b;c\n1;2\n3;4\n", separator=";").feature_names == ("a b", "c")


def test_missing_values_are_nan_and_infinite_ones_are_not():
    words = ["", "NA", "N/A", "NaN", "null", "None", "?", "-", ".", "#N/A", " "]
    table = read("a,b\n" + "".join(f"{word},1\n" for word in words) + "inf,2\n-Infinity,3\n5,4\n")
    assert np.isnan(table.X[: len(words), 0]).all()
    np.testing.assert_array_equal(table.X[len(words) :, 0], [np.inf, -np.inf, 5])


def test_text_is_carried_along_and_never_a_feature():
    table = read("a,day,flag,strand\n1,2020-01-01,true,+\n2,2020-01-02,false,-\n")
    assert table.feature_names == ("a",)
    assert table.labels["day"].tolist() == ["2020-01-01", "2020-01-02"]
    assert table.labels["flag"].tolist() == ["true", "false"]
    assert table.labels["strand"].tolist() == ["+", "-"]


@pytest.mark.parametrize("row", [5, 5000])
def test_a_word_among_numbers_is_named(row):
    cells = [str(i) for i in range(1, 6001)]
    cells[row - 1] = "broken"
    table = read("a,b\n" + "".join(f"{i}.5,{cell}\n" for i, cell in enumerate(cells)))
    assert table.feature_names == ("a",)
    assert table.labels["b"].tolist() == cells
    assert f"Column 'b' is text, not a feature, because of 'broken' in row {row}." in table.notices[0]


def test_decimal_commas_that_show_late_are_named():
    table = read("a;b\n" + "1;2\n" * 300 + "1;2,5\n" * 900)
    assert table.labels["b"][-1] == "2,5"
    notice, _ = table.notices
    assert notice.startswith("Column 'b' is text, not a feature, because of '2,5' in row 301.")
    assert notice.endswith("If numbers are written that way, add decimal=','")
    assert read("a;b\n" + "1;2\n" * 300 + "1;2,5\n" * 900, decimal=",").X[-1, 1] == 2.5


def test_names_with_underscores_between_digits_are_no_numbers():
    assert read("a,b\n1_1,1\n1_2,2\n").labels["a"].tolist() == ["1_1", "1_2"]


def test_a_point_in_a_table_of_decimal_commas_is_no_number():
    table = read("a;b\n1,5;1.234\n2,5;2\n", decimal=",")
    assert table.labels["b"].tolist() == ["1.234", "2"]


def test_columns_that_name_samples_are_told():
    table = read("sample_id,x,y\nq,1,2\nr,3,4\n")
    assert (table.ids, table.id_name, table.feature_names) == (("q", "r"), "sample_id", ("x", "y"))
    assert table.notices[:-1] == (
        "Column 'sample_id' names the samples; to use it as a feature, name it in `columns`.",
    )
    assert read("id,x\n1,2\n1,3\n").feature_names == ("id", "x")
    assert read("id,x\n1.5,2\n2.5,3\n").feature_names == ("id", "x")
    assert read("id,x\n1,2\n2,3\n", columns=("id", "x")).feature_names == ("id", "x")
    assert read("id,x,name\n1,2,a\n2,3,b\n", id="name").ids == ("a", "b")
    late = "".join(f"{i},2\n" for i in range(5000)) + "7,1\n"
    assert read("id,x\n" + late).feature_names == ("id", "x")


def test_columns_are_chosen_by_names_patterns_and_positions():
    content = "gene_1,gene_2,other,kind,last\n1,2,3,a,5\n"
    assert read(content, columns=("gene_*",)).feature_names == ("gene_1", "gene_2")
    assert read(content, columns=("1-2", "last")).feature_names == ("gene_1", "gene_2", "last")
    assert read(content, columns=("gene_*",), drop=("gene_2", "kind")).feature_names == ("gene_1",)
    table = read(content, color="other")
    assert table.feature_names == ("gene_1", "gene_2", "last")
    assert table.labels["other"].tolist() == [3.0]
    both = read(content, color="other", columns=("other", "last"))
    assert both.feature_names == ("other", "last")
    assert list(both.labels) == ["gene_1", "gene_2", "other", "kind"]


def test_a_transposed_table_has_its_samples_as_columns():
    table = read("gene,s1,s2,s3\nA,1,2,3\nB,4,5,6\n", transpose=True, color="B")
    np.testing.assert_array_equal(table.X, [[1], [2], [3]])
    assert (table.ids, table.feature_names) == (("s1", "s2", "s3"), ("A",))
    assert table.labels["B"].tolist() == [4, 5, 6]


def test_rows_that_are_images_are_told_by_the_user():
    table = read("0,255,0,255,0,255\n", image_size=(3, 2))
    assert table.image_shape == (2, 3)
    np.testing.assert_array_equal(table.X, [[0, 1, 0, 1, 0, 1]])
    assert table.notices[-1] == "Pixels from 0 to 255 are divided by 255."
    with pytest.raises(InputError, match=r"4 x 4, got 6\. Try image_size"):
        read("1,2,3,4,5,6\n", image_size=(4, 4))


def test_quotes_hold_separators_newlines_and_quotes():
    table = read('a,note\n1,"two\nlines, and a comma"\n2,"say ""hi"""\n')
    assert table.labels["note"].tolist() == ["two\nlines, and a comma", 'say "hi"']


def test_long_cells_and_wide_tables_are_read():
    assert len(read(f"a,b\n1,{'x' * 100_000}\n").labels["b"][0]) == 100_000
    wide = read(",".join(f"g{i}" for i in range(100_000)) + "\n" + ",".join(["0.5"] * 100_000) + "\n")
    assert wide.X.shape == (1, 100_000)


def test_packed_text_and_other_endings_are_read(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    (tmp_path / "a.measured").write_bytes(b"a,b\n1,2\n")
    for name in ("a.csv.gz", "a.measured"):
        np.testing.assert_array_equal(read_table(tmp_path / name).X, [[1, 2]])


def test_windows_1252_may_show_late():
    table = read(b"a,b\n" + b"1,x\n" * 9000 + b"1,\xfc\n")
    assert table.labels["b"][-1] == "ü"
    assert "Windows-1252" in table.notices[0]


@pytest.mark.parametrize("n_rows", [0, 9000])
def test_an_encoding_that_was_named_is_not_exchanged_for_another(n_rows):
    with pytest.raises(InputError, match=r"got bytes that are none in utf-8"):
        read(b"a,b\n" + b"1,x\n" * n_rows + b"1,\xfc\n", encoding="utf-8")


def test_a_first_row_of_very_long_numbers_does_not_count():
    digits = "9" * 5000
    assert np.isinf(read(f"{digits},{digits}\n1.5,2\n2.5,3\n").X[0]).all()


cells = st.floats(allow_nan=True, allow_infinity=True)
words = st.text(st.characters(codec="utf-8", exclude_characters="\x00", exclude_categories=("Cs",)), max_size=8)


# Fewer rows than those from which texts that differ throughout name the samples.
@settings(max_examples=40)
@given(st.lists(st.tuples(cells, cells, words), min_size=1, max_size=9), st.sampled_from([".csv", ".tsv"]))
def test_what_is_written_comes_back_to_the_bit(tmp_path_factory, rows, ending):
    path = tmp_path_factory.mktemp("round") / f"table{ending}"
    first, second, texts = (list(column) for column in zip(*rows, strict=True))
    Y = np.array([first, second]).T
    label = np.array([f"<{text}>" for text in texts], dtype=object)
    write_coordinates(path, Coordinates(Y=Y, labels={"word": label}))
    table = read_table(path, ReadOptions(columns=("hne*",), header=True, separator="," if ending == ".csv" else "\t"))
    assert np.array_equal(table.X.view(np.int64)[~np.isnan(Y)], Y.view(np.int64)[~np.isnan(Y)])
    np.testing.assert_array_equal(np.isnan(table.X), np.isnan(Y))
    assert [text.strip() for text in label] == table.labels["word"].tolist()


@settings(max_examples=50)
@given(st.binary(max_size=300))
def test_any_bytes_are_a_table_or_one_error(content):
    try:
        table = read(content)
    except InputError as error:
        assert "\n" not in str(error).replace("\\n", "")  # noqa: PT017
        assert str(error).startswith(("standard input", "cannot read"))  # noqa: PT017
    else:
        assert table.X.ndim == 2


@settings(max_examples=50)
@given(st.text(alphabet='0123456789.,;\t |"\n-eNA#xé_', max_size=80))
def test_any_text_is_a_table_or_one_error(content):
    try:
        table = read(content)
    except InputError as error:
        assert str(error).count(". ") >= 1 or str(error).endswith(".")  # noqa: PT017
    else:
        assert len(table.feature_names) == table.X.shape[1]
        assert len(set(table.feature_names)) == table.X.shape[1]


def test_the_limit_of_fields_is_the_csv_modules_own():
    with pytest.raises(InputError, match=r"got a longer one .* not closed"):
        read('a,b\n1,"open\n' + "2,3\n" * (csv.field_size_limit() // 4 + 10))


def test_blanks_in_cells_do_not_separate_where_commas_do():
    rows = "".join(f"p{i},m,Ulm,7{i}.1,168.{i},W 23{i} 4\n" for i in range(9))
    table = read("name,sex,city,weight,height,Ward room bed\n" + rows)
    assert table.feature_names == ("weight", "height")
    assert table.labels["Ward room bed"][0] == "W 230 4"
    assert read("a;b;c\n1 2 3 4;x;1\n5 6 7 8;y;2\n1.5;z;3\n").source.startswith("text table, separator ';'")


def test_blanks_separate_numbers_with_decimal_commas():
    np.testing.assert_array_equal(read("1,5 2,25\n3,5 4,75\n").X, [[1.5, 2.25], [3.5, 4.75]])
