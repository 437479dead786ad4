"""Each notebook runs from its first cell to its last, and is stored without outputs."""

from __future__ import annotations

import os

import pytest

from tests.quality.layers import ROOT
from tests.undisturbed import first_undisturbed

nbformat = pytest.importorskip("nbformat", reason="notebooks need nbclient and ipykernel")
nbclient = pytest.importorskip("nbclient", reason="notebooks need nbclient and ipykernel")
pytest.importorskip("ipykernel", reason="notebooks need nbclient and ipykernel")
pytest.importorskip("pandas", reason="the notebooks make data frames")

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
CAMPAIGN = ROOT / "notebooks" / "failure_campaign.ipynb"


def executed(notebook) -> str:
    """What its cells print."""
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT / "notebooks")}})
    client.execute()
    outputs = (output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs)
    return "".join(output.get("text", "") for output in outputs)


def test_there_are_notebooks():
    assert CAMPAIGN in NOTEBOOKS
    assert len(NOTEBOOKS) >= 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_without_outputs(path):
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert cells
    assert not any(cell.outputs or cell.execution_count for cell in cells)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path):
    printed = executed(nbformat.read(path, as_version=4))
    assert "True" in printed
    if path == CAMPAIGN:
        assert "not emulated: EMULATE is False" in printed


@pytest.mark.emulation
def test_the_campaign_fails_a_link_of_an_emulated_network():
    notebook = nbformat.read(CAMPAIGN, as_version=4)
    cell = notebook.cells[-1]
    assert "EMULATE = False" in cell.source
    cell.source = cell.source.replace("EMULATE = False", "EMULATE = True")
    # A busy machine takes links as failed that nobody broke.
    printed = first_undisturbed(lambda: executed(notebook), lambda printed: "trustworthy: False" in printed and printed)
    assert ("held: True" if os.geteuid() == 0 else "not emulated:") in printed
