"""A study -> its tables, its scores, and the verdict about "HNE does better than ..."."""

from collections.abc import Callable, Mapping, Sequence

from hne_paper.experiments._methods import AUTHORS, CHART, DEFAULT, OWN, REG_WORDS, VARIANTS, has_reg
from hne_paper.experiments._records import FAILS, HOLDS, IN_PART, SHOWN, Claim, Score, Table
from hne_paper.experiments._statistics import SAME, is_failed, listed, median, number, spread, wins
from hne_paper.experiments._studies import PAPER_NEIGHBORS, PROBLEMS, Study

# What is said of many data sets counts as so if it is on this share of them.
CLEARLY = 2 / 3
# That of hne.PUBLISHED, which the scores have beside the paper's k.
DEFAULT_NEIGHBORS = 6

Setting = Callable[[str], int | None]  # the k of a method


def study_tables(study: Study, title: str) -> tuple[Table, ...]:
    """A table for each choice of reg: errors at the paper's k and at the best, and how often each variant wins."""
    return tuple(_study_table(study, title, reg) for reg in (DEFAULT, AUTHORS))


def _study_table(study: Study, title: str, reg: str) -> Table:
    at_paper, at_best = _settings(study, reg)
    right = number(PROBLEMS[study.problem].right)
    header = ["method"]
    for words in (f"k = {PAPER_NEIGHBORS}", "at its best k"):
        header += [f"error {words}", f"below {right}", "I, R, BHNE better"]
    header.insert(4, "best k")
    rows = []
    for method in study.methods:
        cells = [method]
        for k_of in (at_paper, at_best):
            k = k_of(method)
            cells += [
                spread(study.of(method, k, reg)),
                str(study.n_right(method, k, reg)),
                _won(study, method, k_of, reg),
            ]
        cells.insert(4, "own" if at_best(method) == OWN else str(at_best(method)))
        rows.append(tuple(cells))
    return Table(f"{title}: {REG_WORDS[reg]}", tuple(header), tuple(rows), _note(study, reg))


def _note(study: Study, reg: str) -> str:
    note = (
        f"Median (quartiles) over {study.n_seeds} seeds; on how many the error is below what one would be glad of; "
        "and on how many the errors of IHNE, RHNE and BHNE are smaller than the method's by more than "
        f"{number(SAME)}, a failure counting as worse. The best k of {listed([str(k) for k in study.neighbors])} is "
        "that of the lowest median, which only who knows the truth can choose."
    )
    if CHART in study.methods:
        note += f" {CHART}, which is not in the paper, has the k that it chooses itself instead, and its own reg."
    unchanged = [method for method in study.methods if not has_reg(method) and method != CHART]
    if reg == AUTHORS and unchanged:
        note += f" The ridge of {listed(unchanged)}, if any, cannot be chosen: the same as in the table before."
    return note


def _settings(study: Study, reg: str) -> tuple[Setting, Setting]:
    return lambda _: PAPER_NEIGHBORS, lambda method: study.best_k(method, reg)


def _won(study: Study, baseline: str, k_of: Setting, reg: str) -> str:
    """Seeds on which each variant does better, as a table's cell."""
    theirs = study.of(baseline, k_of(baseline), reg)
    if baseline in VARIANTS or is_failed(theirs):
        return "-"
    return ", ".join(str(wins(study.of(variant, k_of(variant), reg), theirs)) for variant in VARIANTS)


def typical_seed(study: Study) -> int:
    """The seed to draw: the one on which the variants come nearest to their medians at the paper's k."""
    errors = [study.of(variant, PAPER_NEIGHBORS) for variant in VARIANTS]
    medians = [median(of_variant) for of_variant in errors]

    def oddity(seed: int) -> float:
        # A failure is as odd as it gets, unless it is the rule.
        pairs = ((of_variant[seed], middle) for of_variant, middle in zip(errors, medians, strict=True))
        return sum(0.0 if error == middle else min(abs(error - middle), 1.0) for error, middle in pairs)

    return min(range(study.n_seeds), key=oddity)


def scores(study: Study, kind: str) -> tuple[Score, ...]:
    """How often each method is right: at the paper's k, at the published default, at each method's best."""
    at_paper, at_best = _settings(study, DEFAULT)
    settings: dict[str, Setting] = {
        f"k = {PAPER_NEIGHBORS}": at_paper,
        f"k = {DEFAULT_NEIGHBORS}": lambda _: DEFAULT_NEIGHBORS,
        "each at its best k": at_best,
    }
    return tuple(
        Score(kind, words, study.n_seeds, _right(study, k_of))
        for words, k_of in settings.items()
        if all(k_of(method) in (*study.neighbors, OWN) for method in study.methods)
    )


def _right(study: Study, k_of: Setting) -> dict[str, int]:
    """On how many seeds each method is right, without those that cannot run."""
    ran = [method for method in study.methods if not is_failed(study.of(method, k_of(method)))]
    return {method: study.n_right(method, k_of(method)) for method in ran}


def measure_tables(study: Study, measures: Mapping[str, str]) -> tuple[Table, ...]:
    """A table for each further measure and each choice of reg; `measures` are names with how to read them."""
    regs = (DEFAULT, AUTHORS)
    return tuple(_measure_table(study, name, note, reg) for name, note in measures.items() for reg in regs)


def _measure_table(study: Study, name: str, note: str, reg: str) -> Table:
    rows = tuple(
        (method, *(spread(study.of(method, k_of(method), reg, name)) for k_of in _settings(study, reg)))
        for method in study.methods
    )
    header = ("method", f"k = {PAPER_NEIGHBORS}", "at the k of least error")
    return Table(f"{name[0].upper()}{name[1:]}: {REG_WORDS[reg]}", header, rows, note)


def better_claim(
    study: Study, says: str, baselines: Sequence[str], reg: str = DEFAULT, *, in_paper: bool = True
) -> Claim:
    """Judge that the variants do better than these baselines, at the paper's k and with each method at its best."""
    at_paper, at_best = _settings(study, reg)
    first, won = _compared(study, baselines, at_paper, reg)
    second, won_at_best = _compared(study, baselines, at_best, reg)
    measured = f"At k = {PAPER_NEIGHBORS} {first}; with each method at its best k {second}."
    return Claim(says, measured, verdict_of([*won, *won_at_best]), f"{study.n_seeds} seeds", in_paper)


def _compared(study: Study, baselines: Sequence[str], k_of: Setting, reg: str) -> tuple[str, list[bool]]:
    """Whom all variants do better or worse than, in words, and whether each pair of a variant and a baseline is won."""
    ran = [baseline for baseline in baselines if not is_failed(study.of(baseline, k_of(baseline), reg))]
    better = {baseline: [_is_better(study, variant, baseline, k_of, reg) for variant in VARIANTS] for baseline in ran}
    worse = {baseline: [_is_better(study, baseline, variant, k_of, reg) for variant in VARIANTS] for baseline in ran}
    groups = {
        "all three versions do better than": [baseline for baseline in ran if all(better[baseline])],
        "all three do worse than": [baseline for baseline in ran if all(worse[baseline])],
        "the versions differ against": [
            baseline for baseline in ran if any(better[baseline]) and not all(better[baseline])
        ],
        "none stands out against": [
            baseline for baseline in ran if not any(better[baseline]) and not all(worse[baseline])
        ],
    }
    told = [f"{words} {listed(whom)}" for words, whom in groups.items() if whom]
    failed = [baseline for baseline in baselines if baseline not in ran]
    told += [f"{listed(failed)} cannot run"] if failed else []
    medians = ", ".join(f"{one} {number(median(study.of(one, k_of(one), reg)))}" for one in (*VARIANTS, *ran))
    return f"{', '.join(told)} (medians {medians})", [outcome for won in better.values() for outcome in won]


def _is_better(study: Study, one: str, other: str, k_of: Setting, reg: str) -> bool:
    return wins(study.of(one, k_of(one), reg), study.of(other, k_of(other), reg)) >= CLEARLY * study.n_seeds


def recovered_claim(studies: Mapping[str, Study], says: str, reg: str = DEFAULT, *, in_paper: bool = True) -> Claim:
    """Judge that the variants are right about these data at the paper's k, on most seeds."""
    sentences, outcomes = [], []
    for words, study in studies.items():
        counts = {variant: study.n_right(variant, PAPER_NEIGHBORS, reg) for variant in VARIANTS}
        outcomes += [count >= CLEARLY * study.n_seeds for count in counts.values()]
        told = ", ".join(
            f"{variant} on {count} (median {number(median(study.of(variant, PAPER_NEIGHBORS, reg)))})"
            for variant, count in counts.items()
        )
        right = number(PROBLEMS[study.problem].right)
        sentences.append(f"{words}: error below {right} by {told} of {study.n_seeds}.")
    n_seeds = next(iter(studies.values())).n_seeds
    return Claim(says, " ".join(sentences), verdict_of(outcomes), f"{n_seeds} seeds of each", in_paper)


def verdict_of(outcomes: Sequence[bool]) -> str:
    """All true: holds; at least half: in part; else not. Without any there is nothing to judge."""
    if not outcomes:
        return SHOWN
    if all(outcomes):
        return HOLDS
    return IN_PART if 2 * sum(outcomes) >= len(outcomes) else FAILS
