"""A study -> its tables, and the verdict about "HNE does better than ..."."""

from collections.abc import Callable, Mapping, Sequence

from hne.experiments._methods import AUTHORS, DEFAULT, REG_WORDS, VARIANTS, has_reg
from hne.experiments._records import FAILS, HOLDS, IN_PART, Claim, Score, Table
from hne.experiments._statistics import is_failed, listed, median, number, spread, wins
from hne.experiments._studies import PAPER_NEIGHBORS, Study

# A variant does better than a rival if it does on this share of the seeds.
CLEARLY = 2 / 3

Setting = Callable[[str], int]  # the k of a method


def study_tables(study: Study, title: str) -> tuple[Table, ...]:
    """A table for each choice of reg: errors at the paper's k and at the best, and how often each variant wins."""
    return tuple(_study_table(study, title, reg) for reg in (DEFAULT, AUTHORS))


def _study_table(study: Study, title: str, reg: str) -> Table:
    at_paper, at_best = _settings(study, reg)
    header = ["method", f"k = {PAPER_NEIGHBORS}", "best k", "at its best k"]
    header += [f"{variant} better, k = {PAPER_NEIGHBORS}" for variant in VARIANTS]
    header += [f"{variant} better, best k" for variant in VARIANTS]
    rows = []
    for method in study.methods:
        best = at_best(method)
        cells = [method, spread(study.of(method, at_paper(method), reg))]
        cells += [str(best), spread(study.of(method, best, reg))]
        cells += [_won(study, variant, method, at_paper, reg) for variant in VARIANTS]
        cells += [_won(study, variant, method, at_best, reg) for variant in VARIANTS]
        rows.append(tuple(cells))
    note = (
        f"Median (quartiles) over {study.n_seeds} seeds. 'Better': on how many of the seeds the variant's error is "
        "below the method's; a method that failed on a seed counts as worse there. The best k is that of the lowest "
        "median in 4 to 8, which only who knows the truth can choose."
    )
    if reg == AUTHORS:
        unchanged = ", ".join(method for method in study.methods if not has_reg(method))
        note += f" {unchanged} have no such ridge or one that cannot be chosen, and are the same in both tables."
    return Table(f"{title}: {REG_WORDS[reg]}", tuple(header), tuple(rows), note)


def scores(study: Study, kind: str) -> tuple[Score, ...]:
    """How often each variant does better than each rival, at the paper's k and at each method's best."""
    rivals = [method for method in study.methods if method not in VARIANTS]
    settings = zip((f"k = {PAPER_NEIGHBORS}", "best k"), _settings(study, DEFAULT), strict=True)
    return tuple(
        Score(kind, words, study.n_seeds, {rival: _counts(study, rival, k_of) for rival in rivals})
        for words, k_of in settings
    )


def _counts(study: Study, rival: str, k_of: Setting) -> str:
    theirs = study.of(rival, k_of(rival))
    if is_failed(theirs):
        return "failed"
    return ", ".join(str(wins(study.of(variant, k_of(variant)), theirs)) for variant in VARIANTS)


def measure_tables(study: Study, measures: Mapping[str, str]) -> tuple[Table, ...]:
    """A table for each further measure and each choice of reg; `measures` are names with how to read them."""
    return tuple(
        _measure_table(study, name, note, reg) for name, note in measures.items() for reg in (DEFAULT, AUTHORS)
    )


def _measure_table(study: Study, name: str, note: str, reg: str) -> Table:
    rows = tuple(
        (method, *(spread(study.of(method, k_of(method), reg, name)) for k_of in _settings(study, reg)))
        for method in study.methods
    )
    header = ("method", f"k = {PAPER_NEIGHBORS}", "at the k of least error")
    return Table(f"{name[0].upper()}{name[1:]}: {REG_WORDS[reg]}", header, rows, note)


def _settings(study: Study, reg: str) -> tuple[Setting, Setting]:
    return lambda _: PAPER_NEIGHBORS, lambda method: study.best_k(method, reg)


def _won(study: Study, variant: str, rival: str, k_of: Setting, reg: str) -> str:
    """Seeds on which the variant does better, as a table's cell."""
    theirs = study.of(rival, k_of(rival), reg)
    if rival in VARIANTS or is_failed(theirs):
        return "-"
    return f"{wins(study.of(variant, k_of(variant), reg), theirs)} of {study.n_seeds}"


def better_claim(study: Study, says: str, rivals: Sequence[str], reg: str = DEFAULT) -> Claim:
    """Judge that the variants do better than these rivals, at the paper's k and with each method at its best."""
    at_paper, at_best = _settings(study, reg)
    first, won = _compared(study, rivals, at_paper, reg)
    second, won_at_best = _compared(study, rivals, at_best, reg)
    measured = f"At k = {PAPER_NEIGHBORS} {first}; with each method at its best k {second}."
    return Claim(says, measured, verdict_of([*won, *won_at_best]), f"{study.n_seeds} seeds")


def _compared(study: Study, rivals: Sequence[str], k_of: Setting, reg: str) -> tuple[str, list[bool]]:
    """Whom all variants, some, or none of them clearly do better than, in words, and the outcome of each pair."""
    ran = [rival for rival in rivals if not is_failed(study.of(rival, k_of(rival), reg))]
    beaten = {rival: [_clearly_better(study, variant, rival, k_of, reg) for variant in VARIANTS] for rival in ran}
    by_count = {
        "all three versions do better than": [rival for rival, won in beaten.items() if all(won)],
        "some than": [rival for rival, won in beaten.items() if any(won) and not all(won)],
        "none than": [rival for rival, won in beaten.items() if not any(won)],
    }
    told = ", ".join(f"{words} {listed(whom)}" for words, whom in by_count.items() if whom)
    failed = [rival for rival in rivals if rival not in ran]
    unable = f", {listed(failed)} cannot run" if failed else ""
    medians = ", ".join(f"{one} {number(median(study.of(one, k_of(one), reg)))}" for one in (*VARIANTS, *ran))
    return f"{told}{unable} (medians {medians})", [outcome for won in beaten.values() for outcome in won]


def _clearly_better(study: Study, variant: str, rival: str, k_of: Setting, reg: str) -> bool:
    ours, theirs = study.of(variant, k_of(variant), reg), study.of(rival, k_of(rival), reg)
    return wins(ours, theirs) >= CLEARLY * study.n_seeds


def verdict_of(outcomes: Sequence[bool]) -> str:
    """All true: holds; at least half: in part; else not."""
    if all(outcomes):
        return HOLDS
    return IN_PART if 2 * sum(outcomes) >= len(outcomes) else FAILS


# Below this error a roll is unrolled, as one sees on a picture.
RECOVERED = 0.05


def recovered_claim(studies: dict[str, Study], says: str, reg: str = DEFAULT) -> Claim:
    """Judge that the variants recover these data at the paper's k: an error below .05 on most seeds."""
    sentences, outcomes = [], []
    for words, study in studies.items():
        counts = {}
        for variant in VARIANTS:
            errors = study.of(variant, PAPER_NEIGHBORS, reg)
            counts[variant] = sum(error < RECOVERED for error in errors)
            outcomes.append(counts[variant] >= CLEARLY * study.n_seeds)
        told = ", ".join(
            f"{variant} on {count} (median {number(median(study.of(variant, PAPER_NEIGHBORS, reg)))})"
            for variant, count in counts.items()
        )
        sentences.append(f"{words}: error below {number(RECOVERED)} by {told} of {study.n_seeds}.")
    n_seeds = next(iter(studies.values())).n_seeds
    return Claim(says, " ".join(sentences), verdict_of(outcomes), f"{n_seeds} seeds of each")
