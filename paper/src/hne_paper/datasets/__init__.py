"""Pictures of heads and teapots: rendered ones, and the originals from their files."""

from hne_paper.datasets._faces import make_faces
from hne_paper.datasets._loaders import load_statue_faces, load_teapots
from hne_paper.datasets._teapots import make_teapots

__all__ = ["load_statue_faces", "load_teapots", "make_faces", "make_teapots"]
