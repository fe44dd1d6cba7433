"""Features: a folder each, of which nothing is loaded before it is needed, but what a tape and the settings need."""

from __future__ import annotations

import ast
import subprocess
import sys
from inspect import isclass, signature

import grimp

from gateway.capabilities import FEATURES
from gateway.feature import Feature, LatePart
from tests.architecture.source_tree import ROOT

ALWAYS = {"facts", "feature", "settings"}
"""The modules of a feature that every process has."""

TAPE = {"runtime.tape.fold", "runtime.tape.facts.registry"}


def test_of_a_feature_that_nobody_uses_only_its_facts_its_settings_and_its_declaration_are_loaded() -> None:
    program = "import sys, gateway.capabilities, gateway.settings.tree; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = [name for name in done.stdout.split() if name.startswith("gateway.features.")]
    assert "gateway.features.schedules.facts" in loaded
    assert {name.rpartition(".")[2] for name in loaded if name.count(".") > 2} == ALWAYS


def test_every_command_that_reads_a_tape_knows_the_facts_of_all_features() -> None:
    graph = grimp.build_graph("gateway", "runtime", "adapters", exclude_type_checking_imports=True)
    commands = {name: graph.find_upstream_modules(name) for name in graph.modules if name.startswith("gateway.cli.")}
    reading = {name for name, imports in commands.items() if TAPE & imports}
    assert len(reading) > 20
    assert {name for name in reading if "gateway.capabilities" not in commands[name]} == set()


def test_what_a_feature_names_is_there_and_takes_what_it_is_given() -> None:
    named = 0
    for name, declared in Feature.__annotations__.items():
        for found in (getattr(feature, name) for feature in FEATURES):
            if isinstance(found, LatePart):
                form = ast.parse(declared, mode="eval").body
                assert isinstance(form, ast.Subscript)
                assert isinstance(form.slice, ast.Tuple)
                assert isinstance(form.slice.elts[0], ast.List)
                signature(found.found()).bind(*form.slice.elts[0].elts)
                named += 1
    assert named > 20
    assert all(isclass(call.found()) for feature in FEATURES for call in feature.calls)
