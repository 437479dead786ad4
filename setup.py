"""Packaging of Armor: a pure core that needs only numeric libraries, and extras for everything that acts.

In a wheel the repository's folders are below `armor._internal`, so that it claims one top-level name
(docs/decisions/wheel.md); an editable install takes them as they are.
"""

import re
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

# Exact pins are in requirements/constraints.txt; the lower bounds here are what the code is written for.
CORE = ["networkx>=3.4", "numpy>=2.2", "scipy>=1.15", "threadpoolctl>=3.5", "PyYAML>=6.0"]
DRAW = ["matplotlib>=3.10"]
OVSDB = ["ovs>=3.3"]
# Ryu imports distutils, which left the standard library in Python 3.12: setuptools provides it there.
METRICS = ["prometheus-client>=0.21"]
CONTROLLER = ["ryu==4.34", "eventlet==0.41.3", "setuptools>=66.1,<68", *METRICS, *OVSDB]
# Tests of pages in Chromium (Debian: chromium, chromium-driver); not in "all".
BROWSER = ["selenium>=4.30"]
# The documentation site (`make docs`); not in "all".
DOCS = ["furo>=2024.8", "myst-parser>=4.0", "sphinx>=8.1"]
LIVE = ["starlette>=1.0", "uvicorn>=0.30"]
EXPERIMENTS = [*DRAW, "jinja2>=3.1", "shtab>=1.7", "tqdm>=4.66"]
# highspy from 1.15 on cannot be loaded in one process with OR-tools, which the benchmarks compare with.
TE = ["cvxpy>=1.7", "highspy>=1.13,<1.15", "joblib>=1.5", "numba>=0.61", *EXPERIMENTS]
PANDAS = ["pandas>=2.2"]
# Rows of results as Parquet (`armor report --rows`).
PARQUET = [*PANDAS, "pyarrow>=18"]

TEST = [
    *PARQUET,
    "coverage>=7.6",
    "hypothesis>=6.100",
    "ipykernel>=7.0",
    "jsonschema>=4.20",
    "mypy>=2.0",
    "nbclient>=0.11",
    "pandas-stubs>=2.2",
    "pytest>=9.0",
    "pytest-cov>=7.0",
    "pytest-randomly>=5.0",
    "pytest-timeout>=2.4",
    "pytest-xdist>=3.8",
    "ruff>=0.17",
    "scipy-stubs>=1.15",
    "types-PyYAML",
    "types-networkx",
    "types-tqdm",
    "wheel>=0.38",
]

EXTRAS = {
    "draw": DRAW,
    "pandas": PANDAS,
    "controller": CONTROLLER,
    "agent": [*OVSDB, *METRICS],
    "experiments": EXPERIMENTS,
    "live": LIVE,
    "te": TE,
    # The same sweeps on several machines.
    "cluster": [*TE, "distributed>=2025.1"],
    "test": TEST,
}

FOLDERS = (
    "mininet_topos",
    "machine",
    "te_solver",
    "dataplane",
    "ryu_apps",
    "ovsdb_backup",
    "emulation",
    "experiments",
)
INTERNAL = "armor._internal"
# A folder's name where Python reads a module of it: in an import, or as a text such as "experiments.cli.plan".
_NAME = "|".join(FOLDERS)
_IMPORT = re.compile(rf"^(\s*from )(?=(?:{_NAME})[. ])", re.MULTILINE)
_TEXT = re.compile(rf"""(?<=["'])(?=(?:{_NAME})\.(?:[a-z_]+[.:"']))""")


def packaged(source: str) -> str:
    """Source text of one of our modules, with imports as they are in a wheel."""
    return _TEXT.sub(f"{INTERNAL}.", _IMPORT.sub(rf"\1{INTERNAL}.", source))


class BuildPy(build_py):  # type: ignore[misc]
    """Puts the folders below `armor._internal`."""

    def finalize_options(self) -> None:
        """Map the folders; an editable install does not come by here."""
        super().finalize_options()
        own = [name for name in self.packages if name.partition(".")[0] == "armor"]
        self.packages = [*own, *(f"{INTERNAL}.{name}" for name in self.packages if name not in own)]
        self.packages.append(f"{INTERNAL}.examples")  # figures name topologies and tables of it
        self.package_dir = {"": ".", **{f"{INTERNAL}.{name}": name for name in (*FOLDERS, "examples")}}

    def build_module(self, module: str, module_file: str, package: str) -> object:
        """Copy one module, and rewrite its imports."""
        done = super().build_module(module, module_file, package)
        target = Path(self.get_module_outfile(self.build_lib, package.split("."), module))
        target.write_text(packaged(target.read_text(encoding="utf-8")), encoding="utf-8")
        return done


setup(
    name="armor-sdn",
    version="0.1.0",
    description="Failure recovery for software-defined networks: plans, real switches, measured recoveries",
    long_description=Path(__file__).with_name("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.10",
    cmdclass={"build_py": BuildPy},
    # The explicit root makes an editable install one path entry, so new packages need no reinstall.
    package_dir={"": "."},
    packages=find_packages(include=[f"{package}{suffix}" for package in ("armor", *FOLDERS) for suffix in ("", ".*")]),
    package_data={
        "": ["*.json", "*.ovsschema", "*.yaml", "py.typed"],
        f"{INTERNAL}.examples": ["pmt/*"],
        f"{INTERNAL}.experiments.live": ["page/*", "page/vendor/*"],
        f"{INTERNAL}.experiments.report": ["templates/*"],
    },
    install_requires=CORE,
    extras_require={
        **EXTRAS,
        "browser": BROWSER,
        "docs": DOCS,
        "parquet": PARQUET,
        "all": sorted({line for lines in EXTRAS.values() for line in lines}),
    },
    # Ours replaces Ryu's own ryu-manager: scripts/setup.sh installs Armor last.
    entry_points={
        "console_scripts": ["armor = armor.__main__:main", "ryu-manager = armor.ryu_manager:main"],
    },
    zip_safe=False,
)
