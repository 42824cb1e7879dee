//! Which crates each package uses: `packages.toml` says, and these tests compare.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::LazyLock;

use cargo_metadata::{Dependency, DependencyKind, Package, PackageId};
use serde::Deserialize;

use super::{WORKSPACE, members, nothing};

/// `packages.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    packages: BTreeMap<String, Rules>,
    why: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Rules {
    no_std: bool,
    clew: BTreeSet<String>,
    external: BTreeSet<String>,
    tests: BTreeSet<String>,
    never: BTreeSet<String>,
}

static PAGE: LazyLock<Page> =
    LazyLock::new(|| toml::from_str(include_str!("packages.toml")).expect("the page is TOML"));

/// The dependencies that end up in what a package ships.
fn shipped(package: &Package) -> impl Iterator<Item = &Dependency> {
    let all = package.dependencies.iter();
    all.filter(|dependency| dependency.kind != DependencyKind::Development)
}

/// Names of these dependencies, ours and others'.
fn names<'a>(all: impl Iterator<Item = &'a Dependency>) -> [BTreeSet<String>; 2] {
    let (ours, others): (Vec<_>, Vec<_>) = all.partition(|d| PAGE.packages.contains_key(&d.name));
    [ours, others].map(|all| all.into_iter().map(|d| d.name.clone()).collect())
}

fn differ(
    package: &str,
    what: &str,
    said: &BTreeSet<String>,
    is: &BTreeSet<String>,
) -> Vec<String> {
    let more = is.difference(said);
    let more = more.map(|name| format!("{package} uses {name}: give it a place among its `{what}` in packages.toml, with the reason, or do without it"));
    let less = said.difference(is);
    let less = less.map(|name| {
        format!("{package} does not use {name}: remove it from its `{what}` in packages.toml")
    });
    more.chain(less).collect()
}

#[test]
fn packages_use_the_crates_they_may() {
    let mut broken = Vec::new();
    for package in members() {
        let name = package.name.as_str();
        let Some(rules) = PAGE.packages.get(name) else {
            broken.push(format!(
                "{name} is new: describe it in packages.toml, and say in docs/decisions/ why it is one more"
            ));
            continue;
        };
        let [ours, others] = names(shipped(package));
        broken.extend(differ(name, "clew", &rules.clew, &ours));
        broken.extend(differ(name, "external", &rules.external, &others));
        let [ours, others] = names(package.dependencies.iter());
        let all: BTreeSet<String> = ours.union(&others).cloned().collect();
        let besides =
            |name: &&String| !rules.clew.contains(*name) && !rules.external.contains(*name);
        let tests = all.iter().filter(besides).cloned().collect();
        broken.extend(differ(name, "tests", &rules.tests, &tests));
    }
    nothing(broken);
}

#[test]
fn every_crate_has_its_reason() {
    let uses = |rules: &Rules| {
        rules
            .external
            .union(&rules.tests)
            .cloned()
            .collect::<Vec<_>>()
    };
    let used: BTreeSet<String> = PAGE.packages.values().flat_map(uses).collect();
    let ours = |name: &&String| !PAGE.packages.contains_key(*name);
    let used: BTreeSet<String> = used.iter().filter(ours).cloned().collect();
    let explained: BTreeSet<String> = PAGE.why.keys().cloned().collect();
    nothing(differ("some package", "why", &explained, &used));
}

/// Arrows point down: no package uses one that uses it.
#[test]
fn packages_form_no_circle() {
    let mut done: BTreeSet<&str> = BTreeSet::new();
    while done.len() < PAGE.packages.len() {
        let ready = |(name, rules): &(&String, &Rules)| {
            !done.contains(name.as_str()) && rules.clew.iter().all(|n| done.contains(n.as_str()))
        };
        let next: Vec<&str> = PAGE
            .packages
            .iter()
            .filter(ready)
            .map(|(name, _)| name.as_str())
            .collect();
        assert!(!next.is_empty(), "a circle among all but {done:?}");
        done.extend(next);
    }
}

#[test]
fn forbidden_crates_stay_out() {
    let mut broken = Vec::new();
    let nodes = &WORKSPACE.resolve.as_ref().expect("cargo resolves").nodes;
    let uses: BTreeMap<&PackageId, Vec<&PackageId>> = nodes
        .iter()
        .map(|node| {
            let normal = node
                .deps
                .iter()
                .filter(|d| d.dep_kinds.iter().any(|k| k.kind == DependencyKind::Normal));
            (&node.id, normal.map(|d| &d.pkg).collect())
        })
        .collect();
    for package in members() {
        let Some(rules) = PAGE.packages.get(package.name.as_str()) else {
            continue;
        };
        let (mut seen, mut next) = (BTreeSet::new(), vec![&package.id]);
        while let Some(id) = next.pop() {
            if seen.insert(id) {
                next.extend(&uses[id]);
            }
        }
        let found = seen.iter().map(|id| WORKSPACE[*id].name.to_string());
        let found = found.filter(|name| rules.never.contains(name));
        broken.extend(found.map(|name| {
            format!(
                "{} must not use {name}, not even through others",
                package.name
            )
        }));
    }
    nothing(broken);
}

#[test]
fn pure_crates_have_no_std() {
    let is_pure = |name: &str| PAGE.packages.get(name).is_some_and(|rules| rules.no_std);
    let mut broken = Vec::new();
    for package in members().into_iter().filter(|p| is_pure(&p.name)) {
        let root = package.manifest_path.parent().unwrap().join("src/lib.rs");
        let text = fs::read_to_string(root).unwrap();
        if !text.lines().any(|line| line == "#![no_std]") {
            broken.push(format!("{} has to say #![no_std]", package.name));
        }
        for dependency in shipped(package).filter(|d| !is_pure(&d.name)) {
            let std = dependency.features.iter().any(|feature| feature == "std");
            if std || dependency.uses_default_features {
                broken.push(format!(
                    "{} would bring std into {}: default-features = false, without std",
                    dependency.name, package.name
                ));
            }
        }
    }
    nothing(broken);
}

#[test]
fn lints_are_those_of_the_workspace() {
    let inherits = |package: &&Package| {
        let manifest = fs::read_to_string(&package.manifest_path).unwrap();
        manifest.contains("\n[lints]\nworkspace = true\n")
    };
    let others = members().into_iter().filter(|package| !inherits(package));
    nothing(
        others
            .map(|p| format!("{} needs [lints] workspace = true", p.name))
            .collect(),
    );
}

/// `deny.toml`, which cargo-deny reads, too.
#[derive(Deserialize)]
struct Deny {
    licenses: Licences,
}

#[derive(Deserialize)]
struct Licences {
    allow: BTreeSet<String>,
}

#[test]
fn licences_are_allowed() {
    let path = WORKSPACE.workspace_root.join("deny.toml");
    let deny: Deny = toml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let all = WORKSPACE.packages.iter();
    let broken: BTreeSet<String> = all
        .filter_map(|package| {
            let licence = package.license.as_deref().unwrap_or("no licence");
            let text = format!(
                "{} {} has {licence}: use another crate",
                package.name, package.version
            );
            (!is_allowed(licence, &deny.licenses.allow)).then_some(text)
        })
        .collect();
    nothing(broken.into_iter().collect());
}

/// Whether an SPDX expression leaves a choice that is allowed. It has AND above OR, or parentheses.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let one = |licence: &str| allowed.contains(licence.trim_matches(['(', ')', ' ']));
    let any = |choice: &str| choice.split(" OR ").flat_map(|c| c.split('/')).any(one);
    expression.split(" AND ").all(any)
}

#[test]
fn expressions_of_licences_are_read() {
    let allowed = ["MIT", "Apache-2.0", "Unicode-3.0", "Unlicense"]
        .map(String::from)
        .into();
    for good in [
        "MIT",
        "MIT OR GPL-3.0",
        "Unlicense/MIT",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
    ] {
        assert!(is_allowed(good, &allowed), "{good}");
    }
    for bad in [
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(MIT OR Apache-2.0) AND GPL-3.0",
        "no licence",
    ] {
        assert!(!is_allowed(bad, &allowed), "{bad}");
    }
}
