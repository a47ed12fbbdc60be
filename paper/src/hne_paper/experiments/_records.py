"""What an experiment hands on: claims, pictures and tables, gathered in a section of the page."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

# What became of a claim. SHOWN is for what is only looked at, and not counted.
HOLDS, IN_PART, FAILS, SHOWN = "holds", "holds in part", "does not hold", "shown"


@dataclass(frozen=True)
class Options:
    """How the experiments are run."""

    output: Path
    data: Path | None = None  # folder with the original images; rendered ones stand in where it has none
    n_seeds: int = 30
    quick: bool = False
    n_jobs: int = -1


@dataclass(frozen=True)
class Claim:
    """One sentence, and what was measured of it."""

    says: str
    measured: str
    verdict: str  # HOLDS, IN_PART, FAILS or SHOWN
    seeds: str  # over how much it was measured, as "30 seeds"
    in_paper: bool = True  # whether the paper says so, or it is what a reader would ask next


@dataclass(frozen=True)
class Picture:
    """A file of the output folder, and what to see on it."""

    file: str
    caption: str


@dataclass(frozen=True)
class Table:
    """Cells as text; the first column names the rows."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Score:
    """On how many data sets of one kind each method is right."""

    kind: str
    setting: str  # how k was chosen
    n_seeds: int
    right: dict[str, int]  # by method


@dataclass(frozen=True, kw_only=True)
class Section:
    """All that one experiment has to show."""

    name: str
    title: str
    text: str
    claims: tuple[Claim, ...] = ()
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    scores: tuple[Score, ...] = ()
    settings: str = ""  # what decides over the numbers: seeds, data, whether it was a quick run
    command: str = ""  # what made it

    def __str__(self) -> str:
        return f"claims {len(self.claims)}, pictures {len(self.pictures)}, tables {len(self.tables)}"

    def as_json(self) -> dict[str, Any]:
        """Plain values, for a file."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Section":
        """The section that `as_json` made the values of."""
        return cls(
            **{
                **values,
                "claims": tuple(Claim(**claim) for claim in values["claims"]),
                "scores": tuple(Score(**score) for score in values["scores"]),
                "pictures": tuple(Picture(**picture) for picture in values["pictures"]),
                "tables": tuple(
                    Table(**{**table, "header": tuple(table["header"]), "rows": tuple(map(tuple, table["rows"]))})
                    for table in values["tables"]
                ),
            }
        )
