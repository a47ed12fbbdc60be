"""A study -> its tables, and the verdict about "HNE does better than ..."."""

from collections.abc import Callable, Sequence

from hne.experiments._methods import AUTHORS, DEFAULT, REG_WORDS, VARIANTS, has_reg
from hne.experiments._records import FAILS, HOLDS, IN_PART, Claim, Table
from hne.experiments._statistics import is_failed, median, number, spread, wins
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
    settings = dict(zip((f"At k = {PAPER_NEIGHBORS}", "Each at its best k"), _settings(study, reg), strict=True))
    sentences, won = [], []
    for words, k_of in settings.items():
        ran = [rival for rival in rivals if not is_failed(study.of(rival, k_of(rival), reg))]
        medians = ", ".join(f"{one} {number(median(study.of(one, k_of(one), reg)))}" for one in (*ran, *VARIANTS))
        sentences.append(f"{words}, median error {medians}.")
        failed = [rival for rival in rivals if rival not in ran]
        if failed:
            sentences.append(f"{', '.join(failed)} failed on every seed there.")
        for variant in VARIANTS:
            ours = study.of(variant, k_of(variant), reg)
            counts = {rival: wins(ours, study.of(rival, k_of(rival), reg)) for rival in ran}
            won += [count >= CLEARLY * study.n_seeds for count in counts.values()]
            told = ", ".join(f"{rival} on {count}" for rival, count in counts.items())
            sentences.append(f"{variant} does better than {told}.")
    measured = " ".join(sentences)
    return Claim(says, measured, verdict_of(won), f"{study.n_seeds} seeds")


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
