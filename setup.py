"""Packaging of Armor: a pure core that needs only numeric libraries, and extras for everything that acts."""

from pathlib import Path

from setuptools import find_packages, setup

# Exact pins are in requirements/constraints.txt; the lower bounds here are what the code is written for.
CORE = ["networkx>=3.4", "numpy>=2.2", "scipy>=1.15", "threadpoolctl>=3.5", "PyYAML>=6.0"]
DRAW = ["matplotlib>=3.10"]
OVSDB = ["ovs>=3.3"]
# Ryu imports distutils, which left the standard library in Python 3.12: setuptools provides it there.
CONTROLLER = ["ryu==4.34", "eventlet==0.41.3", "prometheus-client>=0.21", "setuptools>=66.1,<68", *OVSDB]
# Tests of pages in Chromium (Debian: chromium, chromium-driver); not in "all".
BROWSER = ["selenium>=4.30"]
LIVE = ["starlette>=1.0", "uvicorn>=0.30"]
EXPERIMENTS = [*DRAW, "jinja2>=3.1", "tqdm>=4.66"]
# highspy from 1.15 on cannot be loaded in one process with OR-tools, which the benchmarks compare with.
TE = ["cvxpy>=1.7", "highspy>=1.13,<1.15", "joblib>=1.5", "numba>=0.61", *EXPERIMENTS]
TEST = [
    "coverage>=7.6",
    "hypothesis>=6.100",
    "mypy>=2.0",
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
]

EXTRAS = {
    "draw": DRAW,
    "controller": CONTROLLER,
    "agent": OVSDB,
    "experiments": EXPERIMENTS,
    "live": LIVE,
    "te": TE,
    # The same sweeps on several machines.
    "cluster": [*TE, "distributed>=2025.1"],
    "test": TEST,
}

setup(
    name="armor-sdn",
    version="0.1.0",
    description="Failure recovery for software-defined networks: plans, real switches, measured recoveries",
    long_description=Path(__file__).with_name("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.10",
    # The explicit root makes an editable install one path entry, so new packages need no reinstall.
    package_dir={"": "."},
    packages=find_packages(
        include=[
            f"{package}{suffix}"
            for package in (
                "mininet_topos",
                "machine",
                "te_solver",
                "dataplane",
                "ryu_apps",
                "ovsdb_backup",
                "emulation",
                "experiments",
            )
            for suffix in ("", ".*")
        ]
    ),
    package_data={
        "": ["*.css", "*.graphml", "*.html", "*.json", "*.ovsschema", "*.yaml", "py.typed"],
        "experiments.live": ["page/*", "page/vendor/*"],
    },
    install_requires=CORE,
    extras_require={**EXTRAS, "browser": BROWSER, "all": sorted({line for lines in EXTRAS.values() for line in lines})},
    # Ours replaces Ryu's own ryu-manager: scripts/setup.sh installs Armor last.
    entry_points={
        "console_scripts": ["armor = experiments.cli.main:main", "ryu-manager = ryu_apps.manager:main"],
    },
    zip_safe=False,
)
