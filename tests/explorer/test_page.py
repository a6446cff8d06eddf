"""Use every control of the page in a browser, and compare what it shows with Python."""

import io
import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import skglex
from tests.explorer.models import decomposed, fitted_model, people

VIEWS = ["overview", "components", "rows", "removal", "comparison", "guide"]


@pytest.fixture(scope="module")
def page(open_report):
    """Open a report that has all that a report can have: rows, target, groups, removal and a second model."""
    X, y = people(300, 0)
    other = fitted_model("xgboost", X[50:], y[50:])
    target = pd.Series(np.where(y > 0, "yes", "no"), name="credit")
    opened = open_report(
        lambda: skglex.report(
            decomposed("xgboost"), X, target == "yes", groups=X["age"].gt(40).map({True: "old", False: "young"}),
            remove="town", compare=other, keep={"client": np.char.add("c", X.index.astype(str))}, title="Credit",
            path=None,
        )
    )  # fmt: skip
    opened.set_default_timeout(15_000)
    yield opened
    opened.close()


def go(page, fragment):
    """Follow a link into the page, and wait until it is drawn.

    Playwright's own waiting for a condition compiles text, which the policy of the page forbids.
    """
    page.evaluate(
        """(fragment) => new Promise((done) => {
            const drawn = () => requestAnimationFrame(() => requestAnimationFrame(done));
            addEventListener("popstate", drawn, { once: true });
            if (location.hash === `#${fragment}`) dispatchEvent(new PopStateEvent("popstate"));
            else location.hash = fragment;
        })""",
        fragment,
    )


def number(text):
    """Return the first number of a text of the page."""
    return float(re.search(r"[−-]?[\d.]+", text)[0].replace("−", "-"))


def prediction(page):
    """Return the probability that the page shows."""
    return number(page.text_content("#prediction")) / 100


def first_column(page, frame):
    """Return the texts of the first column of a table."""
    return page.locator(f"[aria-label='{frame}'] tbody th").all_text_contents()


def test_what_if_follows_python(page):
    """The page shows one decimal of a percentage, so the texts agree to half of it."""
    X, _ = people(300, 0)
    model = decomposed("xgboost").estimator_
    go(page, "view=rows&row=7")
    row = X.iloc[[7]].copy()
    assert prediction(page) == pytest.approx(model.predict_proba(row)[0, 1], abs=6e-4)
    page.get_by_label("income, exact value").fill("1.5")
    page.get_by_label("rooms", exact=True).fill("5")
    page.get_by_label("town", exact=True).select_option("Ulm")
    go(page, page.evaluate("explorer.state.fragment().slice(1)"))
    row["income"], row["rooms"], row["town"] = 1.5, 5, "Ulm"
    changed = model.predict_proba(row.astype(X.dtypes))[0, 1]
    assert prediction(page) == pytest.approx(changed, abs=6e-4)
    page.get_by_label("income is missing").check()
    row["income"] = np.nan
    assert prediction(page) == pytest.approx(model.predict_proba(row.astype(X.dtypes))[0, 1], abs=6e-4)
    page.get_by_role("button", name="Undo all changes").click()
    assert prediction(page) == pytest.approx(model.predict_proba(X.iloc[[7]])[0, 1], abs=6e-4)


def test_waterfall_and_proposed_changes(page):
    """Bars add up to the prediction in both explanations; a proposed change leads to the prediction that it names."""
    for kind in ("Features", "Components"):
        go(page, "view=rows&row=11")
        page.locator("main").get_by_text(kind, exact=True).click()
        table = page.get_by_role("button", name=re.compile("^Table of Row 11"))
        table.click()
        cells = page.locator(
            "[aria-label='Table of Why this prediction?'] tbody tr td:last-child"
        ).all_text_contents()
        values = [float(cell.replace("−", "-")) for cell in cells]
        assert sum(values[:-1]) == pytest.approx(values[-1], abs=0.01)
        assert values[-1] == pytest.approx(prediction(page), abs=0.006)
        table.click()
    page.get_by_text("Lower it", exact=True).click()
    line = page.locator("[aria-label='Single changes'] tbody tr").first
    promised = number(line.locator("td").nth(1).text_content()) / 100
    line.get_by_role("button", name="Try").click()
    assert prediction(page) == pytest.approx(promised, abs=1e-6)
    page.get_by_role("button", name="Undo all changes").click()
    page.get_by_role("button", name="Leave out income").click()
    assert "income" not in " ".join(first_column(page, "Single changes"))
    page.get_by_role("button", name="Use income again").click()
    assert "income" in " ".join(first_column(page, "Single changes"))


def test_rows_are_filtered_and_sorted(page):
    X, _ = people(300, 0)
    go(page, "view=rows")
    page.get_by_label("Filter by").select_option(label="age")
    page.get_by_label("Value", exact=True).fill("60")
    page.get_by_role("button", name="Add filter").click()
    page.get_by_label("Filter by").select_option(label="town")
    page.get_by_label("Value", exact=True).select_option("Ulm")
    page.get_by_role("button", name="Add filter").click()
    page.get_by_role("columnheader", name="age").get_by_role("button").click()
    expected = X[(X["age"] >= 60) & (X["town"] == "Ulm")].sort_values("age", ascending=False, kind="stable")
    assert first_column(page, "Table of rows") == [str(i) for i in expected.index]
    page.get_by_role("button", name=f"Row {expected.index[1]}", exact=True).click()
    name = f"Row {expected.index[1]} (client c{expected.index[1]})"
    assert page.get_by_role("heading", name=name, exact=True).is_visible()
    page.get_by_role("button", name="Remove the filter town is Ulm").click()
    assert page.get_by_text(f"of {(X['age'] >= 60).sum()}").is_visible()


def test_components_are_found_and_drawn(page):
    go(page, "view=components&scale=margin")
    assert len(page.locator(".choices a").all()) == 10
    page.get_by_label("Search features").fill("town age")
    assert page.locator(".choices .name").all_text_contents() == ["age × town"]
    page.locator(".choices a").click()
    assert page.locator(".chart image").is_visible()
    page.locator(".chart").hover(position={"x": 200, "y": 100})
    assert page.locator(".readout").text_content().startswith("age ")
    before = page.locator(".chart image").get_attribute("href")
    page.get_by_text("With both alone", exact=True).click()
    assert page.locator(".chart image").get_attribute("href") != before
    go(page, "view=components&scale=margin&component=0-1-2")
    page.get_by_label("Hold", exact=True).select_option(label="age")
    assert "at age" in page.locator("figure .heading").text_content()
    go(page, "view=components&scale=response&component=1")
    assert page.locator(".chart .tick").first.text_content().endswith("%")
    page.get_by_text("Log odds", exact=True).click()
    assert not page.locator(".chart .tick").first.text_content().endswith("%")


def test_files_can_be_taken_away(page):
    """The CSV file holds the component in full precision; the pictures stand alone."""
    go(page, "view=components&scale=margin&component=0")
    files = {}
    for kind in ("PNG", "SVG", "CSV"):
        with page.expect_download() as download:
            page.get_by_role("button", name=re.compile(f"^{kind}: download")).click()
        files[kind] = download.value.path().read_bytes()
    assert files["PNG"].startswith(b"\x89PNG")
    assert b"class=" not in files["SVG"]
    assert ElementTree.fromstring(files["SVG"]).tag.endswith("svg")
    values = pd.read_csv(io.BytesIO(files["CSV"]))["effect on log-odds of credit"]
    expected = decomposed("xgboost").components_["income"].values
    np.testing.assert_allclose([values.min(), values.max()], [expected.min(), expected.max()], rtol=1e-9)


def test_removal_shows_groups_before_and_after(page):
    """The means of the table are those of the rows of the page."""
    go(page, "view=removal&scale=response")
    page.wait_for_selector("[aria-label='Means by group']")
    assert page.get_by_role("checkbox", name="town").is_checked()
    page.get_by_label("Compare by").select_option(label="nothing: all rows together")
    means = page.evaluate("""["town"].map((name) => explorer.facts.features.findIndex((f) => f.name === name))
        .map((f) => explorer.model.removedAll([f], 1, 0, "response")).map((all) => meanOf(all))""")
    shown = page.locator("[aria-label='Means by group'] tbody td").all_text_contents()
    assert number(shown[2]) / 100 == pytest.approx(means[0], abs=6e-4)
    page.get_by_label("How much of their effect").fill("0")
    page.locator("[aria-label='Means by group'] tbody td >> nth=3").filter(
        has_text=re.compile(r"^0\.0$")
    ).wait_for()
    page.get_by_role("checkbox", name="town").uncheck()
    assert "nothing yet" in page.locator("figure .heading").text_content()


def test_a_link_leads_back(page):
    """The address holds all that was chosen, so another window shows the same."""
    go(page, "view=rows&row=5&explain=components&filter=f1:ge:30&by=-f1&set1=55&scale=margin&direction=lower")
    read = """[location.hash, [...document.querySelectorAll("#prediction, .rows-table, .settings, .chips, tbody")]
        .map((part) => part.innerText), [...document.querySelectorAll(".chart")].map((chart) => chart.ariaLabel),
        [...document.querySelectorAll("main input:checked, main input[type=number]")].map((input) => input.value)]"""
    page.reload()
    page.wait_for_selector("#prediction")
    shown = page.evaluate(read)
    window = page.context.browser.new_page()
    window.goto(page.url.split("#")[0] + shown[0])
    window.wait_for_selector("#prediction")
    assert window.evaluate(read) == shown
    window.close()
    page.get_by_role("link", name="Removal").click()
    page.go_back()
    assert page.get_by_role("link", name="Removal").get_attribute("aria-current") is None


def test_colours_can_be_chosen(page):
    background = "getComputedStyle(document.documentElement).backgroundColor"
    page.get_by_text("Dark", exact=True).click()
    dark = page.evaluate(background)
    page.get_by_text("Light", exact=True).click()
    assert page.evaluate(background) != dark
    page.get_by_text("Auto", exact=True).click()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_the_page(page, scheme):
    """No view breaks a rule of axe-core, and none is wider than a telephone."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    # Only contrast differs between the colour schemes.
    rules = {} if scheme == "light" else {"runOnly": ["color-contrast"]}
    page.emulate_media(color_scheme=scheme)
    size = page.viewport_size
    page.set_viewport_size({"width": 400, "height": 800})
    for view in VIEWS:
        go(page, f"view={view}")
        found = axe.run(page, options=rules).response["violations"]
        assert not [(rule["id"], rule["nodes"][0]["html"]) for rule in found], view
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, view
    page.set_viewport_size(size)
    page.emulate_media(color_scheme=None)


def test_a_page_without_rows_says_what_it_lacks(open_report):
    X, _ = people(300, 0)
    page = open_report(
        lambda: skglex.report(decomposed("xgboost"), X, max_rows=0, background_rows=0, path=None), "no rows"
    )
    for view in ("rows", "removal"):
        go(page, f"view={view}")
        assert page.get_by_text("Needs rows.").first.is_visible(), view
    go(page, "view=components&scale=response")
    assert page.get_by_text("Needs rows.").is_visible()


def test_each_class_has_its_picture(open_report):
    X, _ = people(300, 0)
    page = open_report(lambda: skglex.report(decomposed("lightgbm"), X, path=None), "three classes")
    go(page, "view=rows")
    texts = set()
    for output in range(3):
        page.get_by_label("Output").select_option(str(output))
        texts.add(page.text_content("#prediction"))
    assert len(texts) == 3


def test_a_forest_has_one_scale(open_report):
    """Its margin is the probability, so there is nothing to choose, and components average over all rows."""
    X, y = people(200, 1)
    forest = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X[["age"]].fillna(0), y > 0)
    opened = open_report(lambda: skglex.report(forest, X[["age"]].fillna(0), y > 0, path=None))
    assert "Scale" not in opened.locator("#switches").inner_text()
    for fragment in ("view=components", "view=rows&scale=response", "view=guide"):
        go(opened, fragment)
        assert opened.evaluate("explorer.scale()") == "margin"
    assert "Scale:" not in opened.locator("main").inner_text()
    opened.close()


def test_links_work_inside_a_notebook(chromium, tmp_path):
    """A frame without an address of its own keeps the state, too."""
    report = skglex.report(decomposed("xgboost"), people(300, 0)[0], path=None)
    notebook = chromium.new_page()
    file = tmp_path / "notebook.html"
    file.write_text(f"<!DOCTYPE html><meta charset='utf-8'>{report._repr_html_()}", encoding="utf-8")
    notebook.goto(file.as_uri())
    frame = notebook.frame_locator("iframe")
    frame.get_by_role("link", name="Rows", exact=True).click()
    frame.get_by_role("button", name="Row 3", exact=True).click()
    assert frame.get_by_role("heading", name="Row 3", exact=True).is_visible()
    notebook.close()
