"""S1.78, S1.79, S1.81: what dashboards draw and alerts ask for is told by the code, and every alert leads somewhere."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import promql_parser
import pytest

from recollect.metrics import DEFINED, NAMES, PREFIX, Metrics
from tests.ops.files import ALERTS, MONITORING, OPS, ROOT, dashboard, expressions, read_yaml

EXPRESSIONS = list(expressions())
RULES = [rule for group in read_yaml(ALERTS)["groups"] for rule in group["rules"]]
GIVEN = {"job", "instance", "role"}  # by prometheus.yml
OTHERS = {"up", "process_resident_memory_bytes", "process_cpu_seconds_total"}
SUFFIXES = ("_bucket", "_sum", "_count")


def parsed(expression: str) -> Any:
    return promql_parser.parse(expression.replace("$role", "ingestion"))


def selectors(expression: str) -> list[Any]:
    found: list[Any] = []

    def visit(node: Any) -> bool:
        if isinstance(node, promql_parser.VectorSelector):
            found.append(node)
        return True

    promql_parser.walk(parsed(expression), visit)
    return found


def defined(name: str) -> Any:
    """The metric a series belongs to; a histogram has three."""
    short = name.removeprefix(PREFIX)
    for suffix in SUFFIXES:
        base = NAMES.get(short.removesuffix(suffix))
        if short.endswith(suffix) and base is not None and base.type == "histogram":
            return base
    one = NAMES.get(short)
    assert one is not None, f"nobody tells {name}"
    assert one.type != "histogram", f"{name} is a histogram: _bucket, _sum or _count"
    return one


@pytest.mark.parametrize(("where", "expression"), EXPRESSIONS, ids=[f"{n}-{e[0]}" for n, e in enumerate(EXPRESSIONS)])
def test_an_expression_asks_for_what_is_told(where: str, expression: str) -> None:
    for selector in selectors(expression):
        if selector.name in OTHERS:
            continue
        one = defined(selector.name)
        for matcher in selector.matchers.matchers:
            assert matcher.name in {*one.labels, *GIVEN}, f"{where}: {selector.name} has no label {matcher.name}"


@pytest.mark.parametrize(("where", "expression"), EXPRESSIONS, ids=[f"{n}-{e[0]}" for n, e in enumerate(EXPRESSIONS)])
def test_an_expression_groups_by_labels_that_are_told(where: str, expression: str) -> None:
    known = {label for selector in selectors(expression) if selector.name not in OTHERS for label in labels(selector)}
    for grouped in re.findall(r"by \(([^)]*)\)", expression):
        assert {word.strip() for word in grouped.split(",")} <= known | {*GIVEN, "le"}, where


def labels(selector: Any) -> tuple[str, ...]:
    found: tuple[str, ...] = defined(selector.name).labels
    return found


def test_a_counter_is_never_read_without_a_rate() -> None:
    """Counters begin at 0 with each start: alone they say nothing."""
    for where, expression in EXPRESSIONS:
        for selector in selectors(expression):
            if selector.name in OTHERS or defined(selector.name).type in ("gauge", "read"):
                continue
            assert re.search(rf"(rate|increase)\({selector.name}(\{{[^}}]*\}})?\[", expression), where


@pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
def test_a_counter_that_an_alert_watches_is_there_before_it_rises(rule: dict[str, Any]) -> None:
    """A series that is first seen at 1 has not risen: the first alarm of a kind, and the first error, would be lost."""
    metrics = Metrics()
    metrics.request("/search", "POST", 200, 0.01)  # a route that works, before it fails
    told = metrics.render()[0].decode()
    for selector in selectors(rule["expr"]):
        if selector.name in OTHERS or defined(selector.name).type != "counter":
            continue
        one = defined(selector.name)
        for label in one.labels if one.name != "http_requests_total" else ():
            for word in one.words[label]:
                assert re.search(rf'^{selector.name}{{[^}}]*{label}="{word}"[^}}]*}} 0\.0$', told, re.MULTILINE), word
        for matcher in selector.matchers.matchers if one.name == "http_requests_total" else ():
            asked = matcher.value.replace("5..", "500|503").split("|")
            assert {f'{selector.name}{{method="POST",route="/search",status="{word}"}} 0.0' for word in asked} <= set(
                told.splitlines()
            )


def test_every_metric_is_drawn_or_watched() -> None:
    used = {defined(one.name).name for _, text in EXPRESSIONS for one in selectors(text) if one.name not in OTHERS}
    assert used == {one.name for one in DEFINED}


def test_a_wrong_expression_would_be_noticed() -> None:
    for wrong in (
        "rate(recollect_recalls_total[5m)",
        "rat(recollect_recalls_total[5m])",
        "sum by (x recollect_bus_lag",
    ):
        with pytest.raises(ValueError):  # noqa: PT011  the parser's own words
            parsed(wrong)
    with pytest.raises(AssertionError):
        defined("recollect_http_request_seconds")
    with pytest.raises(AssertionError):
        defined("recollect_bus_lagg")


# -- alerts ------------------------------------------------------------------------------------------------------------


def anchors(page: str) -> set[str]:
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.casefold()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
def test_an_alert_says_how_bad_it_is_what_it_is_and_what_to_do(rule: dict[str, Any]) -> None:
    assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert rule["annotations"]["summary"]
    page, _, anchor = rule["annotations"]["runbook"].partition("#")
    assert anchor in anchors(page), f"{page} has no part {anchor}"
    assert re.fullmatch(r"\d+[smh]", rule.get("for", "1m"))


def test_no_two_alerts_have_one_name() -> None:
    assert max(Counter(rule["alert"] for rule in RULES).values()) == 1


def test_every_severity_reaches_slack_and_the_webhook_is_in_a_file() -> None:
    config = read_yaml(OPS / "alertmanager.yml")
    receivers = {one["name"]: one for one in config["receivers"]}
    routes = [config["route"], *config["route"]["routes"]]
    for route in routes:
        [slack] = receivers[route["receiver"]]["slack_configs"]
        assert slack["api_url_file"] == "/run/secrets/slack_webhook"
        assert "api_url" not in slack
    assert "hooks.slack.com" not in (OPS / "alertmanager.yml").read_text()
    assert "slack_webhook" in read_yaml(MONITORING)["services"]["alertmanager"]["secrets"]


def test_the_monitor_asks_the_services_there_are_with_a_key_from_a_file() -> None:
    config = read_yaml(OPS / "prometheus" / "prometheus.yml")
    jobs = {job["job_name"]: job for job in config["scrape_configs"]}
    assert jobs["recollect"]["authorization"]["credentials_file"] == "/run/secrets/metrics_key"
    targets = [target for job in jobs.values() for one in job["static_configs"] for target in one["targets"]]
    assert {"memory-ingestion:8001", "memory-retrieval:8002", "worker:9102"} <= set(targets)
    assert all((OPS / "prometheus" / file).is_file() for file in config["rule_files"])
    for job in jobs.values():
        for one in job["static_configs"]:
            assert set(one.get("labels", {})) <= GIVEN


# -- dashboard ---------------------------------------------------------------------------------------------------------


def test_panels_have_their_own_id_and_place() -> None:
    panels = dashboard()["panels"]
    assert max(Counter(panel["id"] for panel in panels).values()) == 1
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24, panel["title"]
        assert not cells & taken, panel["title"]
        taken |= cells


def test_the_dashboard_shows_what_was_asked_for() -> None:
    text = " ".join(panel["title"].casefold() for panel in dashboard()["panels"])
    for wanted in ("latency", "throughput", "errors", "oldest", "coverage", "left today", "abstained", "bus", "bytes"):
        assert wanted in text, wanted


def test_panels_name_the_source_the_dashboard_asks_for() -> None:
    [source, role] = dashboard()["templating"]["list"]
    assert (source["name"], role["name"]) == ("source", "role")
    for panel in dashboard()["panels"]:
        if panel["type"] != "row":
            assert panel["datasource"]["uid"] == "${source}"
            assert panel["targets"], panel["title"]
    [given] = read_yaml(OPS / "grafana" / "provisioning" / "datasources" / "prometheus.yml")["datasources"]
    assert given["uid"] == source["current"]["value"]


def test_the_dashboard_is_where_grafana_looks() -> None:
    [provider] = read_yaml(OPS / "grafana" / "provisioning" / "dashboards" / "recollect.yml")["providers"]
    mounts = read_yaml(MONITORING)["services"]["grafana"]["volumes"]
    assert f"./grafana/dashboard.json:{provider['options']['path']}/recollect.json:ro" in mounts
