"""The page in a real browser: clicks, keys, sizes, colours, and a console that stays silent."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from experiments.cli.main import main
from experiments.live.decide.document import Document, changes, to_json
from experiments.live.decide.places import topology_view
from experiments.live.decide.running import Seen, advanced, first_view
from experiments.live.web_process import WebProcess
from tests.live import folders
from tests.live.browser import chromium
from tests.patience import wait_until

pytestmark = pytest.mark.slow
SHOWN_CONTROLS = """
    [...document.querySelectorAll("header button, .map-card button, .map-card select, #time, #pair")]
        .filter((each) => each.offsetParent).map((each) => each.id)
"""
COLOURS_ON_CARDS = """
    ((card, name) => {
        const text = card.appendChild(document.createElement("i"));
        text.style.color = `var(--${name})`;
        const found = [getComputedStyle(text).color, getComputedStyle(card).backgroundColor];
        text.remove();
        return found;
    })(document.querySelector(".card"), arguments[0])
"""
SIZES = {"wide": (1280, 900), "narrow": (390, 844)}


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return folders.recovered_folder(tmp_path_factory.mktemp("browser") / "mine")


@pytest.fixture(scope="module")
def address(folder):
    page = folder.with_name("page.html")
    assert main(["live", str(folder), "--export", str(page)]) == 0
    return page.as_uri()


@pytest.fixture
def page(browser, address):
    browser.open(address)
    browser.complaints()
    yield browser
    assert browser.complaints() == []


def planned(page):
    page.click("#mode-planned")
    # What the window of the first failure shows at its beginning: nothing has failed yet.
    assert page.run("armor.state.failed.size") == 0


def hops(page):
    return page.run("[...document.querySelector('#path-text .hops').children].map((hop) => hop.textContent)")


def test_an_exported_page_loads_nothing(page):
    assert page.run("performance.getEntriesByType('resource').map((each) => each.name)") == []
    assert page.run("armor.page.runs.length") == 1


def test_a_click_on_a_link_of_the_map_changes_the_path(page):
    planned(page)
    before = hops(page)
    page.click_link("s9-s10")
    assert page.run("[...armor.state.failed]") == ["s9-s10"]
    after = hops(page)
    assert before[0] == after[0] == "h4"
    assert before[-1] == after[-1] == "h10"
    assert ("s9", "s10") in set(pairwise(before))
    assert ("s9", "s10") not in set(pairwise(after))
    assert "backtracks 5 hops" in page.text("path-text")
    page.click_link("s9-s10")
    assert hops(page) == before


def test_buttons_of_the_list_do_what_the_map_does(page):
    planned(page)
    page.click_button("fail s9-s10")
    by_list = hops(page)
    assert "s9-s10 fails" in page.run("document.getElementById('said').textContent")
    page.click_button("repair s9-s10")
    page.click_link("s9-s10")
    assert hops(page) == by_list


def test_failures_that_part_the_pair_are_said(page):
    planned(page)
    for link in ("s9-s10", "s10-s17"):  # all that s10 has
        page.click_button(f"fail {link}")
    assert "No path is left" in page.text("path-text")


def test_lost_packets_are_those_of_the_record(page, folder):
    verdict = json.loads((folder / "verdict.json").read_text())["runs"][0]
    assert f"{verdict['lost']} packets lost" in page.text("chips").replace("\n", " ")
    page.run("armor.jumpTo(armor.page.runs[0].end_ms)")
    assert page.text("lost-now") == str(verdict["lost"])
    assert page.run("armor.lostUntil(armor.page.runs[0].series, 1e9)") == verdict["lost"]


def test_time_tells_who_knows_and_where_packets_go(page):
    page.run("armor.jumpTo(2005)")
    assert "Packets are lost" in page.text("path-text")
    page.run("armor.jumpTo(2016.5)")
    assert "captured packet backtracks" in page.text("path-text")
    page.picture("crankback")
    page.run("armor.jumpTo(2100)")
    assert "path around the failure" in page.text("path-text")
    page.run("armor.jumpTo(1000 * arguments[0])", folders.RETURNED_S + 0.01)
    assert "usual path" in page.text("path-text")


def test_play_moves_time_until_it_is_paused(page):
    before = page.run("armor.state.t")
    page.click("#play")
    assert page.text("play") == "Pause"
    wait_until(lambda: page.run("armor.state.t") > before, "time moves")
    page.click("#play")
    assert page.text("play") == "Play"
    then = page.run("armor.state.t")
    assert page.run("new Promise((done) => setTimeout(() => done(armor.state.t), 200))") == then


def test_keys_move_time_and_tabs_and_fail_links(page):
    from selenium.webdriver.common.keys import Keys

    page.run("document.getElementById('time').focus()")
    before = page.run("armor.state.t")
    page.press(Keys.ARROW_RIGHT)
    assert page.run("armor.state.t") > before
    page.run("document.getElementById('tab-links').focus()")
    page.press(Keys.ARROW_RIGHT)
    assert page.run("document.activeElement.id") == "tab-switches"
    assert not page.run("document.getElementById('panel-switches').hidden")
    page.press(Keys.ARROW_LEFT)
    planned(page)
    page.run("document.getElementById(arguments[0]).focus()", page.button("fail s9-s10"))
    page.press(Keys.ENTER)
    assert page.run("[...armor.state.failed]") == ["s9-s10"]


def test_the_tab_key_reaches_every_control_that_is_shown(page):
    from selenium.webdriver.common.keys import Keys

    wanted = set(page.run(SHOWN_CONTROLS))
    reached = set()
    for _ in range(len(wanted) + 8):
        page.press(Keys.TAB)
        reached.add(page.run("document.activeElement.id"))
    assert wanted <= reached


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_page_fits_the_screen_and_can_be_read(browser, address, size, scheme):
    width, height = SIZES[size]
    browser.open(address, width, height, scheme)
    assert browser.run("document.documentElement.scrollWidth") <= width  # less where a scroll bar stands
    colours = browser.run("['color', 'backgroundColor'].map((name) => getComputedStyle(document.body)[name])")
    assert contrast(*colours) >= 7
    assert (brightness(colours[1]) < 0.2) == (scheme == "dark")
    for name in ("quiet", "usual", "present", "back", "failed"):
        colour, card = browser.run(COLOURS_ON_CARDS, name)
        assert contrast(colour, card) >= 4.5, name
    browser.run("armor.jumpTo(2016.5)")
    browser.picture(f"{size}-{scheme}")
    assert browser.complaints() == []


def test_the_theme_button_overrules_the_system(page):
    page.click("#theme")
    page.click("#theme")
    assert page.text("theme") == "Theme: dark"
    assert brightness(page.run("getComputedStyle(document.body).backgroundColor")) < 0.2


def test_a_live_page_asks_for_what_is_clicked_and_shows_what_comes_of_it(browser, topology, walks):
    """The network's side is played by the test."""
    run = first_view("sdfast-learned", "sdfast", "learned", {("s4", "s10"): walks.every(("s4", "s10"))})
    document = Document("x", "live", topology_view(topology), (run,))
    with WebProcess(to_json(document), 0) as web:
        browser.open(web.url)
        browser.complaints()
        before = hops(browser)
        browser.click_link("s9-s10")
        asked = wait_until(web.asked, "the page asks")
        assert asked.wanted == {"do": "fail", "link": "s9-s10", "kind": "silent"}
        web.answer(asked.number, "not today")
        wait_until(lambda: "not today" in browser.text("problem"), "the page says why not")
        seen = [Seen(0.0), Seen(900.0, frozenset([topology.parse_link("s9-s10")])), Seen(1400.0)]
        broken = advanced(run, topology, *seen[:2], walks.one)
        web.publish(0, changes(run, broken))
        wait_until(lambda: hops(browser) != before, "the path changes")
        browser.picture("live")
        browser.click_button("repair s9-s10")
        asked = wait_until(web.asked, "the page asks")
        assert asked.wanted == {"do": "repair", "link": "s9-s10"}
        web.answer(asked.number, "")
        browser.click("#tab-switches")
        browser.click_button("fail s12")
        asked = wait_until(web.asked, "the page asks")
        assert asked.wanted == {"do": "fail", "switch": "s12"}
        web.answer(asked.number, "")
        web.publish(0, changes(broken, advanced(broken, topology, *seen[1:], walks.one)))
        wait_until(lambda: hops(browser) == before, "the path is the usual one again")
        assert browser.text("problem") == ""
        assert browser.complaints() == []


def brightness(colour):
    """Relative luminance of "rgb(r, g, b)" (WCAG 2.2)."""
    parts = [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    """Contrast ratio of two colours (WCAG 2.2)."""
    low, high = sorted((brightness(one), brightness(other)))
    return (high + 0.05) / (low + 0.05)
