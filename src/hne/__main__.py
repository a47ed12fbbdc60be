"""`python -m hne` is `hne`."""

import sys

from hne.cli import main

sys.exit(main())
