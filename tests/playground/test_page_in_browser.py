"""The page in a real browser: typing, clicks, keys, phone width, and no requests to the network."""

from urllib.parse import urlsplit

import pytest

SLOW = 30_000  # milliseconds; the machine may be busy
SMALL = "#problem=expr:a*(b%2Bc)+in+0..3&word=2*(1%2B3)"  # its length is fixed, so that there is little to measure


@pytest.fixture
def opened(open_page, address):
    """Open the page with a fragment and wait for its run; return (page, observations)."""

    def open_at(fragment="", reduced_motion="reduce", **options):
        observed = open_page(f"{address}/{fragment}", reduced_motion=reduced_motion, **options)
        observed.page.set_default_timeout(SLOW)
        observed.page.locator("#results:not(.stale) .said").first.wait_for()
        return observed.page, observed

    return open_at


def run_view(page):
    """The viewer's page inside the frame, once it shows a run."""
    frame = page.frame_locator("#view")
    frame.locator("html[data-ready]").wait_for()
    return frame


def settled(page):
    """Wait for the plot and the table of planners."""
    page.locator("#growth svg.plot").wait_for()
    page.locator("#planners table").wait_for()


def verdict(page):
    return [" ".join(text.split()) for text in page.locator(".said .what").all_inner_texts()]


def test_the_first_page_shows_a_run(opened):
    page, observed = opened()
    assert verdict(page) == ["accepted ✓", "9 steps"]
    view = run_view(page)
    assert "masked diffusion" in view.locator("#summary").inner_text()
    settled(page)
    assert "masked diffusion and looped: 1 at 2, 2 at 4, 3 at 8" in page.locator("svg.plot").get_attribute("aria-label")
    assert observed.complaints == []
    strangers = [url for url in observed.requests if urlsplit(url).hostname != "127.0.0.1"]
    assert strangers == []


def test_it_denoises_before_the_eyes(opened):
    page, _ = opened(SMALL, reduced_motion="no-preference")
    view = run_view(page)
    view.locator("#play[aria-label=pause]").wait_for()  # it plays
    view.locator("#tick", has_text="step 5 of 5").wait_for()


def test_typing_a_regex_and_a_word(opened):
    page, observed = opened()
    page.locator("#problem").fill("[ab]*ba")
    page.locator("#word").fill("abba")
    page.locator("#word").press("Enter")
    page.locator(".sizes", has_text="N = 4").wait_for()
    assert verdict(page)[0] == "accepted ✓"
    assert "[ab]*ba on abba" in run_view(page).locator("#title").inner_text()
    assert page.evaluate("new URLSearchParams(location.hash.slice(1)).get('problem')") == "[ab]*ba"
    assert "unmask compile '[ab]*ba' --length 4 --to mdm" in page.locator("#shell").inner_text()
    assert observed.complaints == []


def test_a_wrong_planner_fails_visibly(opened):
    page, observed = opened()
    page.locator("#planner").select_option("uniform")
    page.locator(".said.wrong").wait_for()
    assert verdict(page) == ["rejected ✗ wrong", "accepted ✓"]
    assert "the correct answer is: accepted" in page.locator(".said.wrong").inner_text()
    assert "planner uniform:1" in run_view(page).locator("#summary").inner_text()
    settled(page)
    row = page.locator("#planners tr", has_text="uniform:1")
    assert row.locator(".wrong").first.inner_text().startswith("0 of ")
    assert "wrong" not in page.locator("#planners tr", has_text="own planner").inner_html()
    assert page.locator("#planners .samplers tr", has_text="fast-dllm threshold 0.9").count() == 1
    assert observed.complaints == []


def test_an_example_is_clicked_and_can_be_gone_back_from(opened):
    page, _ = opened()
    page.get_by_role("link", name="the paper’s expression").click()
    page.locator(".said .what", has_text="gives 19").wait_for()
    assert page.locator("#problem").input_value() == "expr:(2+3)*(4+1)-6"
    assert page.get_by_role("link", name="the paper’s expression").get_attribute("aria-current") == "true"
    page.go_back()
    page.locator(".said .what", has_text="accepted").first.wait_for()
    assert page.locator("#problem").input_value() == "(a|b)*abb"


def test_a_link_holds_everything(opened):
    page, _ = opened(f"{SMALL}&kind=topk&planner=left-to-right&k=2")
    values = [page.locator(f"#{name}").input_value() for name in ("problem", "word", "kind", "planner", "k")]
    assert values == ["expr:a*(b+c) in 0..3", "2*(1+3)", "topk", "left-to-right", "2"]
    assert "left-to-right:2" in page.locator(".said .who").first.inner_text()
    page.locator("#kind").select_option("cot")
    page.locator("#planners", has_text="Only masked diffusion has a planner").wait_for()
    assert page.locator("#planner").is_disabled()
    assert page.locator("#k").is_hidden()


def test_a_link_with_nonsense_is_harmless(open_page, address):
    nonsense = "#problem=<img src=x onerror=alert(1)>&word=<b>&kind=__proto__&planner=eval&k=-1&seed=1e9"
    observed = open_page(f"{address}/{nonsense}")
    observed.page.locator("#results:not(.stale) .said").first.wait_for(timeout=SLOW)
    assert observed.page.locator("#kind").input_value() == "mdm"
    assert observed.page.locator("main img").count() == 0
    assert observed.complaints == []


def test_after_an_error_message_the_next_question_is_answered(open_page, address):
    observed = open_page(f"{address}/#problem=(a&word=a")
    page = observed.page
    page.locator("#status.error").wait_for(timeout=SLOW)
    assert "column" in page.locator("#status").inner_text()
    assert page.locator("#results").is_hidden()
    page.locator("#problem").fill("expr:a+b in 0..3")
    page.locator("#word").fill("1+2")
    page.locator("#problem").press("Enter")
    page.locator(".said.right").wait_for(timeout=SLOW)
    assert page.locator("#status.error").count() == 0


def test_a_word_that_does_not_fit_is_answered_with_one_that_does(open_page, address):
    page = open_page(f"{address}/{SMALL}x").page
    page.locator("#tries button").first.click(timeout=SLOW)
    page.locator(".said.right").wait_for(timeout=SLOW)


def test_random_weights_are_shown_and_not_judged(opened):
    page, observed = opened("#problem=random:7&word=abab")
    assert page.locator(".said.right, .said.wrong").count() == 0
    page.locator("#growth", has_text="do not solve a problem").wait_for()
    assert observed.complaints == []


def test_prove_says_what_was_proved(opened):
    page, _ = opened("#problem=(a|b)*abb&word=aabb")
    page.locator("#prove").click()
    page.locator("#proof.proved").wait_for()
    assert "every word of length 4" in page.locator("#proof").inner_text()


def test_the_keyboard_suffices(opened):
    page, _ = opened(SMALL)
    page.locator("#problem").focus()
    for expected in ("word", "kind", "planner"):
        page.keyboard.press("Tab")
        while page.evaluate("document.activeElement.closest('#tries') !== null"):
            page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == expected
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Run"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "prove"


def test_a_phone_shows_it_without_sideways_scrolling_in_light_and_dark(opened):
    page, _ = opened("#problem=group:A5&word=(14)(25)+(243)+(13425)&planner=uniform", width=360, color_scheme="light")
    settled(page)
    backgrounds = set()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        wide = page.evaluate(
            "[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > 361"
            " && !e.closest('pre')).map(e => e.outerHTML.slice(0, 80))"
        )
        assert wide == []
        backgrounds.add(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
    assert backgrounds == {"rgb(252, 252, 250)", "rgb(22, 24, 27)"}
