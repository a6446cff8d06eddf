"""Check what a release states in several places, and the forms for issues."""

import re
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Packages that have other names in conda.
IN_CONDA = {"xgboost": "py-xgboost"}


def read_yaml(path):
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def test_versions_and_dates_agree():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version, date = re.search(r"^## \[([\d.]+)\] - ([\d-]+)$", changelog, re.MULTILINE).groups()
    citation = read_yaml("CITATION.cff")
    assert (
        version
        == PROJECT["version"]
        == citation["version"]
        == read_yaml("conda/recipe.yaml")["context"]["version"]
    )
    assert date == str(citation["date-released"])
    assert citation["license"] == PROJECT["license"]


def test_conda_recipe_has_the_dependencies():
    recipe = read_yaml("conda/recipe.yaml")
    assert recipe["build"]["python"]["entry_points"] == [
        f"{name} = {target}" for name, target in PROJECT["scripts"].items()
    ]
    found = [line.replace(" ", "") for line in recipe["requirements"]["run"][1:]]
    expected = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["report"]]
    assert found == [
        re.sub(r"^[\w-]+", lambda match: IN_CONDA.get(match[0], match[0]), line) for line in expected
    ]


@pytest.mark.parametrize("name", ["wrong_number", "problem", "question_or_idea"])
def test_issue_forms(name):
    form = read_yaml(f".github/ISSUE_TEMPLATE/{name}.yml")
    assert {"name", "description", "body"} <= set(form)
    areas = [part for part in form["body"] if part["type"] == "textarea"]
    assert all(part["attributes"]["label"] for part in areas)
    assert any(part.get("validations", {}).get("required") for part in areas)
    assert len({part["id"] for part in areas}) == len(areas)
