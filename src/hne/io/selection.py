"""Names and kinds of columns, and what the user chose -> which are features, labels, and the names of samples."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hne.exceptions import quoted
from hne.io.names import check_names, is_id_name, listed, position, positions
from hne.io.record import ReadOptions
from hne.io.sources import File

# Kinds of columns: features unless something is said, text, and numbers that describe samples.
NUMBER, TEXT, LABEL = "number", "text", "label"
# Columns of numbers that are kept as labels where others were chosen: of a wide table, thousands were not.
MOST_KEPT = 100


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Positions of the columns by what they are for."""

    features: tuple[int, ...]
    labels: tuple[int, ...]
    id: int | None
    color: int | None = None
    notices: tuple[str, ...] = ()


def assigned_roles(
    file: File,
    names: Sequence[str],
    kinds: Sequence[str],
    choices: ReadOptions,
    is_unique: Callable[[int], bool],
    index: int | None = None,
    *,
    keeps_numbers: bool = True,
) -> Roles:
    """Roles of the columns.

    `is_unique` tells whether a column holds different texts or whole numbers throughout, `index` is the column that
    the file itself has for the names of samples. Numbers that were not chosen become labels unless `keeps_numbers` is
    False, as for a matrix, whose columns mean little by themselves.
    """
    check_names(file, names)
    dropped = set(positions(file, names, "drop", choices.drop))
    of_model, notices = _of_model(file, names, kinds, choices)
    chosen = set(positions(file, names, "columns", choices.columns) + of_model) - dropped
    color = position(file, names, "color", choices.color)
    identity = position(file, names, "id", choices.id)
    _check_color(file, names, color, identity, dropped)
    if identity is None:
        identity, named = _found_id(names, {*chosen, *dropped, color}, is_unique, index)
        notices += named
    for i in sorted(chosen):
        _check_number(file, names[i], kinds[i])
    is_chosen = bool(choices.columns or choices.features)
    free = [i for i in range(len(names)) if i not in dropped and i != identity]
    features = sorted(chosen) if is_chosen else [i for i in free if kinds[i] == NUMBER and i != color]
    if not features:
        raise _no_features(file, names, kinds, dropped)
    spare = [i for i in free if kinds[i] == NUMBER and i not in chosen and i != color] if is_chosen else []
    kept, left = _kept(spare) if keeps_numbers else (set(), ())
    labels = [i for i in free if i == color or kinds[i] != NUMBER or i in kept]
    return Roles(features=tuple(features), labels=tuple(labels), id=identity, color=color, notices=notices + left)


def _kept(spare: list[int]) -> tuple[set[int], tuple[str, ...]]:
    """Columns of numbers that become labels because others were chosen, and a notice of those that do not."""
    if len(spare) <= MOST_KEPT:
        return set(spare), ()
    rest = len(spare) - MOST_KEPT
    notice = (
        f"Of {len(spare)} columns of numbers that are no features, {MOST_KEPT} are kept as labels, {rest} left out."
    )
    return set(spare[:MOST_KEPT]), (notice,)


def _found_id(
    names: Sequence[str], taken: set[int | None], is_unique: Callable[[int], bool], index: int | None
) -> tuple[int | None, tuple[str, ...]]:
    """The column that names the samples: the file's own, or the first that is called so and differs throughout."""
    if index is not None and index not in taken:
        return index, ()
    found = next((i for i, name in enumerate(names) if i not in taken and is_id_name(name) and is_unique(i)), None)
    if found is None:
        return None, ()
    return found, (f"Column {quoted(names[found])} names the samples; to use it as a feature, name it in --columns.",)


def _of_model(
    file: File, names: Sequence[str], kinds: Sequence[str], choices: ReadOptions
) -> tuple[list[int], tuple[str, ...]]:
    """Positions of the features of a fitted model, which must all be there, or as many numbers without a name."""
    index = {name: i for i, name in enumerate(names)}
    lacking = [name for name in choices.features if name not in index]
    if not lacking:
        return [index[name] for name in choices.features], ()
    unnamed = [i for i, name in enumerate(names) if kinds[i] == NUMBER and name == f"x{i + 1}"]
    if len(unnamed) == len(choices.features) == kinds.count(NUMBER):
        order = listed(choices.features)
        return unnamed, (f"Columns have no names here: they are taken for the model's, in its order: {order}.",)
    msg = f"must have the {len(choices.features)} columns of the model, got none called {listed(lacking)}. "
    raise file.error(msg + f"It has {listed(names)}.")


def _check_color(file: File, names: Sequence[str], color: int | None, identity: int | None, dropped: set[int]) -> None:
    """Refuse a color that is forgotten, or that is taken for the names of samples."""
    if color is None:
        return
    if color in dropped:
        got = f"{quoted(names[color])} for --color and --drop"
        msg = f"must keep the column to color by, got {got}. Leave one of them out."
        raise file.error(msg)
    if color == identity:
        msg = (
            f"must have a column each for --color and --id, got {quoted(names[color])} for both. Leave one of them out."
        )
        raise file.error(msg)


def _check_number(file: File, name: str, kind: str) -> None:
    if kind != NUMBER:
        got = f"{'text' if kind == TEXT else 'a label'} in {quoted(name)}"
        msg = f"must have numbers in the columns that are features, got {got}. Leave it out of --columns."
        raise file.error(msg)


def _no_features(file: File, names: Sequence[str], kinds: Sequence[str], dropped: set[int]) -> Exception:
    numbers = [i for i, kind in enumerate(kinds) if kind == NUMBER]
    known = listed([names[i] for i in numbers])
    if numbers and dropped.issuperset(numbers):
        msg = f"must have a feature, got --drop for all {len(numbers)} columns of numbers: {known}. "
        return file.error(msg + "Leave one out of --drop.")
    if numbers:
        return file.error(f"must have a feature, got none beside {known}. Name it in --columns.")
    msg = f"must have a column of numbers, got text in all {len(names)}: {listed(names)}. "
    return file.error(msg + "Encode text as numbers first, or check --separator and --decimal.")
