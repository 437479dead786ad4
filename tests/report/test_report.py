"""The report page: complete, escaped, self-contained, the same every time."""

from __future__ import annotations

import base64
import json
import re
import shutil
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from experiments.cli.main import main
from experiments.report import campaign_section
from experiments.report.build import report_page
from experiments.report.render import to_html
from experiments.report.words import NONE
from tests.report import folders

VOID = {"meta", "img", "br", "hr", "input", "link"}
EVIL = "<script>alert('x')</script>"


class Outline(HTMLParser):
    """Reads a page, and complains when tags do not match."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.text, self.images = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "img":
            self.images.append(dict(attrs))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())

    def named(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def outline(*paths):
    return Outline(to_html(report_page(paths)))


@pytest.fixture
def every_folder(tmp_path):
    return (
        folders.run_folder(tmp_path / "one run", failed="no answer from s3"),
        folders.campaign_folder(tmp_path / "campaign"),
    )


def test_page_is_well_formed_and_loads_nothing(every_folder):
    text = to_html(report_page(every_folder))
    page = Outline(text)
    for tag, attributes in page.tags:
        for name in ("src", "href", "data", "action", "srcset", "poster"):
            assert attributes.get(name, "#").startswith(("#", "data:image/")), (tag, attributes)
    assert not page.named("script")
    assert not page.named("link")
    style = text[text.index("<style>") : text.index("</style>")]
    assert "@media print" in style
    assert "url(" not in style
    assert "@import" not in style


def test_inner_links_lead_to_places_that_are_there_once(every_folder):
    page = outline(*every_folder)
    places = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(places) == len(set(places))
    links = [attributes["href"] for attributes in page.named("a")]
    assert len(links) > 4
    assert {link.removeprefix("#") for link in links} <= set(places)


def test_page_serves_readers_who_do_not_see_it(every_folder):
    page = outline(*every_folder)
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.images
    assert all(len(image["alt"]) > 20 for image in page.images)
    assert all(attributes.get("scope") in ("col", "row") for attributes in page.named("th"))
    assert len(page.named("caption")) == len(page.named("table"))
    assert page.named("html") == [{"lang": "en"}]


def test_same_folders_give_the_same_page(every_folder):
    assert to_html(report_page(every_folder)) == to_html(report_page(every_folder))


def test_images_are_whole_pictures(every_folder):
    for image in outline(*every_folder).images:
        data = base64.b64decode(image["src"].partition("base64,")[2], validate=True)
        assert ElementTree.fromstring(data).tag.endswith("svg")


def test_text_from_files_stays_text(tmp_path):
    rows = [folders.trial_row(EVIL, "failed", error=EVIL, links=[EVIL], variant=EVIL)]
    claim = dict.fromkeys(folders.CLAIM, EVIL)
    campaign = folders.campaign_folder(tmp_path / "<b>bold", trials=[EVIL], rows=rows, claims=[claim])
    verdict = folders.run_verdict(EVIL)
    run = folders.run_folder(tmp_path / "run", name=EVIL, failed=EVIL)
    verdict["failures"][0] |= {"what": EVIL, "kind": EVIL}
    folders.write_json(run / "verdict.json", {"runs": [verdict]})
    text = to_html(report_page([campaign, run]))
    assert "<script" not in text
    assert "<b>" not in text
    assert EVIL in Outline(text).words
    for image in Outline(text).images:
        assert b"<script" not in base64.b64decode(image["src"].partition("base64,")[2])


def test_every_claim_stands_beside_what_the_paper_says(every_folder):
    words = outline(*every_folder).words
    for text in ("mean delay against CB", "\N{MINUS SIGN}54.0", "\N{MINUS SIGN}48.2", "-69 to -39", "✔ holds"):
        assert words.count(text) >= 2  # in the overview, and with its id
    assert "\N{MINUS SIGN}48.2 (\N{MINUS SIGN}51.0 to \N{MINUS SIGN}45.5)" in words
    assert "both parts together" in words


def test_comparisons_without_a_band_are_counted_in_front_and_reported_with_their_id(tmp_path):
    beside = {**folders.CLAIM, "name": "in the transient part", "verdict": "measured", "band": None, "note": "aside"}
    for claims, in_front in (((folders.CLAIM, beside), "mean delay against CB"), ((beside,), "1 comparison")):
        words = outline(folders.campaign_folder(tmp_path / str(len(claims)), claims=claims)).words
        overview, section = words.split("1 comparison for which the paper gives no band")
        assert in_front in overview
        assert "in the transient part" not in overview
        assert "in the transient part" in section
        assert "aside" in section


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("holds", "✔"),
        ("direction", "≈"),
        ("differs", "✘"),
        ("measured", "○"),
        ("no data", "∅"),
        ("undecided", "?"),
        ("by construction", "≡"),
    ],
)
def test_verdicts_differ_without_colour(tmp_path, word, shown):
    claim = {**folders.CLAIM, "verdict": word}
    words = outline(folders.campaign_folder(tmp_path / "c", claims=[claim])).words
    assert f"mean delay against CB {shown} {word}" in words


def test_failed_and_doubtful_trials_stand_open_with_their_reasons(every_folder):
    page = outline(every_folder[1])
    shown = page.words[: page.words.index("All 4 attempts")]
    for text in ("t/2", "t/3", "the controller did not answer again", "the machine was busy"):
        assert text in shown
    assert "2 attempts failed; 1 trial never succeeded" in shown
    assert "link rate reached 4.2 of 5 Mbit/s" in shown


def test_every_attempt_is_in_the_list_of_all(every_folder):
    page = outline(every_folder[1])
    listed = page.words[page.words.index("Every attempt, in the order of time") :]
    assert [word for word in listed.split() if word.startswith("t/")] == ["t/1", "t/2", "t/3", "t/3"]


def test_means_by_variant_leave_failed_attempts_out(every_folder):
    words = outline(every_folder[1]).words
    assert "mixed darkstrand 4 cbc-5ms 2 2 1 110.2 80.2" in words  # (100.0 + 120.5) / 2


def test_a_time_that_never_ended_in_some_attempt_has_no_mean(every_folder):
    rows = [{"status": "ok", "convergence_ms": each, "backtracking_ms": {"from_failure": 1.0}} for each in (12.0, None)]
    assert campaign_section._means(rows)[3:] == (NONE, "1.0")


def test_unfinished_campaign_says_so_and_how_to_go_on(every_folder):
    words = outline(every_folder[1]).words
    assert "not finished: 1 trial of 4 has no result yet" in words
    assert "armor reproduce --resume FOLDER, where FOLDER is the place of campaign" in words
    assert "The missing 1 trial t/4" in words
    assert "Not drawn or judged yet: sdfast-fig9." in words


def test_caption_of_a_picture_is_the_alternative_text(every_folder):
    alts = [image["alt"] for image in outline(every_folder[1]).images]
    assert any("Figure of Delay" in alt and "not trustworthy" in alt for alt in alts)


def test_note_that_many_claims_share_stands_once(tmp_path):
    claims = [{**folders.CLAIM, "name": f"claim {number}"} for number in range(5)]
    words = outline(folders.campaign_folder(tmp_path / "c", claims=claims)).words
    assert "5 claims both parts together" in words
    assert words.count("both parts together") == 1


def test_long_table_of_an_id_is_folded(every_folder):
    path = every_folder[1] / "sdfast-fig5" / "verdict.json"
    verdict = json.loads(path.read_text(encoding="utf-8"))
    assert "All numbers" not in outline(every_folder[1]).words
    folders.write_json(path, {**verdict, "table": {"header": ["a"], "rows": [[f"row{row}"] for row in range(60)]}})
    page = outline(every_folder[1])
    assert "All numbers (60 rows)" in page.words
    assert page.words.index("row59") > page.words.index("All numbers")


def test_trials_that_an_id_lacks_are_named_with_their_reasons(every_folder):
    path = every_folder[1] / "sdfast-fig5" / "verdict.json"
    failed = [{"trial": "t/3", "error": "the controller did not answer again"}, {"trial": "t/4", "error": "not run"}]
    verdict = json.loads(path.read_text(encoding="utf-8"))
    folders.write_json(path, {**verdict, "trials": 4, "failed_trials": 2, "failed": failed})
    words = outline(every_folder[1]).words
    assert "2 trials of 4 failed or did not run." in words
    assert "t/4 not run" in words


def test_resumed_campaign_tells_when_and_how(every_folder):
    again = {"at": "2026-01-03T01:02:03+0000", "command": ["armor", "reproduce", "--resume", "x y"]}
    folders.write_json(every_folder[1] / "environment.json", {**folders.ENVIRONMENT, "resumed": [again]})
    words = outline(every_folder[1]).words
    assert "Gone on with at 2026-01-03 01:02 UTC: armor reproduce --resume 'x y'" in words


def test_campaign_that_has_just_begun_makes_a_page(tmp_path):
    folders.write_json(tmp_path / "c" / "campaign.json", {"format_version": 1, "ids": ["a"], "trials": ["t/1", "t/2"]})
    assert "2 trials of 2 have no result yet" in outline(tmp_path / "c").words


def test_torn_last_row_of_a_killed_campaign_is_left_out(every_folder):
    with (every_folder[1] / "rows.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"trial": "t/torn", "sta')
    assert "t/torn" not in outline(every_folder[1]).words


def test_run_shows_stages_claims_and_the_run_that_broke_off(every_folder):
    words = outline(every_folder[0]).words
    for text in ("13.2", "15.7", "16.1", "18.3", "s3: 2 rows missing", "no answer from s3", "the machine was busy"):
        assert text in words
    assert "armor run 'a file.yaml'" in words
    assert "2026-01-02 03:04 UTC with commit 0123456789ab (changed)" in words
    assert "ryu not installed" in words


def test_scenario_keeps_its_empty_lines(every_folder):
    assert folders.SCENARIO.rstrip() in to_html(report_page(every_folder[:1]))


def test_failure_is_drawn_as_the_packet_with_the_longest_way_back_walked_it(every_folder):
    alts = [image["alt"] for image in outline(every_folder[0]).images]
    assert "darkstrand: s9-s10 fails, s4 to s10, as captured: a packet from s4 to s10 walks 5 hops back" in alts


def test_failure_without_returned_packets_is_drawn_as_planned(every_folder):
    folders.write_rows(every_folder[0] / "probes.jsonl", [folders.probe_row(sent_s=15.0)])
    alts = " ".join(image["alt"] for image in outline(every_folder[0]).images)
    assert "as planned: paths from s4 to s10" in alts


def test_drawing_of_the_demo_is_used_when_there_is_one(every_folder):
    (every_folder[0] / "topology.svg").write_bytes(folders.SVG)
    alts = " ".join(image["alt"] for image in outline(every_folder[0]).images)
    assert "The topology with the failed link" in alts
    assert "as captured" not in alts


def test_topology_file_that_has_moved_leaves_the_rest_readable(every_folder):
    text = folders.SCENARIO.replace("darkstrand", "no_such_file.graphml")
    (every_folder[0] / "scenario.yaml").write_text(text, encoding="utf-8")
    words = outline(every_folder[0]).words
    assert "Failures are not drawn" in words
    assert "no_such_file.graphml" in words
    assert "13.2" in words


def test_run_shows_who_knew_when(every_folder):
    verdict = json.loads((every_folder[0] / "verdict.json").read_text(encoding="utf-8"))
    known = {"frames": 34, "since": "detection", "switches": 28, "knew": 27, "last_ms": 12.25, "knew_ms": {}}
    verdict["runs"][0]["failures"][0]["notification"] = known
    folders.write_json(every_folder[0] / "verdict.json", verdict)
    assert "Who knew when" not in outline(every_folder[0]).words
    (every_folder[0] / "knowledge.svg").write_bytes(folders.SVG)
    shown = outline(every_folder[0])
    assert "When each switch first sent or received" in " ".join(image["alt"] for image in shown.images)
    for text in ("Who knew when", "27 of 28", "12.2"):
        assert text in shown.words


def test_large_svg_gives_way_to_pixels(every_folder):
    (every_folder[0] / "figure.svg").write_bytes(folders.SVG + b" " * 400_000)
    pixels = b"\x89PNG"
    (every_folder[0] / "figure.png").write_bytes(pixels)
    sources = [image["src"] for image in outline(every_folder[0]).images]
    assert f"data:image/png;base64,{base64.b64encode(pixels).decode()}" in sources


def test_command_writes_the_page_into_the_first_folder(every_folder, capsys):
    assert main(["report", *map(str, every_folder), "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    page = every_folder[0] / "report.html"
    assert value["page"] == str(page)
    assert page.stat().st_size == value["bytes"]
    assert main(["report", str(every_folder[0])]) == 0  # a page in the folder is in nobody's way


def test_name_that_is_no_text_is_shown_as_a_question_mark(every_folder, tmp_path):
    folders.write_rows(every_folder[1] / "rows.jsonl", [folders.trial_row("t/\ud800", "failed", error="x")])
    out = tmp_path / "new" / "page.html"
    assert main(["report", str(every_folder[1]), "--out", str(out)]) == 0
    assert "t/?" in out.read_text(encoding="utf-8")


def complaint(capsys, *words):
    assert main(["report", *map(str, words)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("armor: ")
    assert err.count("\n") == 1
    return err


def test_folders_without_results_are_refused(tmp_path, capsys):
    assert "does not exist" in complaint(capsys, tmp_path / "nowhere")
    assert "holds no results" in complaint(capsys, tmp_path)
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert "is no folder" in complaint(capsys, tmp_path / "file")
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("name", ["verdict.json", "environment.json"])
def test_run_without_one_of_its_files_is_refused(every_folder, capsys, name):
    (every_folder[0] / name).unlink()
    assert f"{name}' is missing" in complaint(capsys, every_folder[0])


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"runs": [{}]}', '{"runs": 3}', '{"runs": [{"run": "a", "failures": 1}]}']
)
def test_verdict_that_is_none_is_refused(every_folder, capsys, text):
    (every_folder[0] / "verdict.json").write_text(text, encoding="utf-8")
    assert "one run" in complaint(capsys, every_folder[0])


@pytest.mark.parametrize("name", ["rows.jsonl", "probes.jsonl"])
def test_rows_that_are_none_are_refused_with_their_line(every_folder, capsys, name):
    with (every_folder[0] / name).open("a", encoding="utf-8") as file:
        file.write('{"route": ]\n')
    assert "is no JSON" in complaint(capsys, every_folder[0])


def test_campaign_of_another_format_is_refused(every_folder, capsys):
    folders.write_json(every_folder[1] / "campaign.json", {"format_version": 99})
    assert "has format 99" in complaint(capsys, every_folder[1])


def test_place_that_cannot_be_written_is_refused(every_folder, capsys):
    assert "cannot be written" in complaint(capsys, every_folder[1], "--out", every_folder[1] / "rows.jsonl" / "x.html")


def test_folder_can_be_moved(every_folder, tmp_path):
    moved = tmp_path / "elsewhere" / "campaign"
    shutil.copytree(every_folder[1], moved)
    assert to_html(report_page([moved])) == to_html(report_page([every_folder[1]]))
