//! Groups of a pool's scenarios with the same result, described by the properties in which they differ.

use crate::report::escape::escape_one_line;
use crate::report::model::{Scenario, Step, When};

/// Hosts with the same result and the same steps.
#[derive(Clone, Debug)]
pub struct ScenarioGroup<'a> {
    /// The scenario that represents the group.
    pub first: &'a Scenario,
    /// The descriptions of the hosts, one line each; empty if they do not differ.
    pub hosts: Vec<String>,
}

/// Returns the properties that all scenarios share, in words; empty if none is known.
pub fn common_properties(scenarios: &[Scenario]) -> String {
    let differing = differing_properties(scenarios);
    let Some(first) = scenarios.first() else {
        return String::new();
    };
    let known: Vec<String> = host_properties(&first.when)
        .iter()
        .zip(differing)
        .filter(|(_, differs)| !differs)
        .filter_map(|((name, value), _)| value.map(|value| format!("{name} {}", escape_one_line(value))))
        .collect();
    known.join(", ")
}

/// Returns groups of scenarios with the same result and steps, in the order of their first scenario.
pub fn group_scenarios(scenarios: &[Scenario]) -> Vec<ScenarioGroup<'_>> {
    let differing = differing_properties(scenarios);
    let mut groups: Vec<(&Scenario, Vec<&When>)> = Vec::new();
    for scenario in scenarios {
        match groups.iter_mut().find(|(first, _)| have_same_steps(first, scenario)) {
            Some((_, whens)) => whens.push(&scenario.when),
            None => groups.push((scenario, vec![&scenario.when])),
        }
    }
    let single_group = groups.len() == 1;
    groups
        .into_iter()
        .map(|(first, whens)| ScenarioGroup {
            first,
            hosts: if single_group { Vec::new() } else { describe_hosts(&whens, differing) },
        })
        .collect()
}

/// Names and values of the properties of a host.
type HostProperties<'a> = [(&'static str, Option<&'a str>); 8];

/// Returns the properties of a host with their names.
fn host_properties(when: &When) -> HostProperties<'_> {
    [
        ("gpu", when.gpu.as_deref()),
        ("driver", when.driver.as_deref()),
        ("launch", when.launch.as_deref()),
        ("mode", when.mode.as_deref()),
        ("toolkit", when.toolkit.as_deref()),
        ("brand", when.brand.as_deref()),
        ("library_directory", when.library_directory.as_deref()),
        ("build", when.build.as_deref()),
    ]
}

/// Returns which properties differ between the scenarios.
fn differing_properties(scenarios: &[Scenario]) -> [bool; 8] {
    let mut differing = [false; 8];
    if let Some(first) = scenarios.first() {
        for scenario in scenarios {
            for (at, (a, b)) in host_properties(&first.when).iter().zip(host_properties(&scenario.when)).enumerate() {
                differing[at] |= a.1 != b.1;
            }
        }
    }
    differing
}

/// Whether two scenarios have the same result and the same steps.
fn have_same_steps(a: &Scenario, b: &Scenario) -> bool {
    let step = |a: &Step, b: &Step| {
        a.step == b.step && a.result == b.result && a.text == b.text && a.facts == b.facts && a.cite == b.cite
    };
    a.fate == b.fate
        && a.outcome == b.outcome
        && a.steps.len() == b.steps.len()
        && a.steps.iter().zip(&b.steps).all(|(a, b)| step(a, b))
}

/// Returns one line if the hosts are every combination of their values, otherwise one line per host.
fn describe_hosts(whens: &[&When], differing: [bool; 8]) -> Vec<String> {
    let rows: Vec<Vec<(&str, Option<&str>)>> = whens
        .iter()
        .map(|when| {
            host_properties(when).into_iter().zip(differing).filter(|(_, differs)| *differs).map(|(f, _)| f).collect()
        })
        .collect();
    let mut distinct: Vec<&Vec<_>> = Vec::new();
    for row in &rows {
        if !distinct.contains(&row) {
            distinct.push(row);
        }
    }
    let mut columns: Vec<(&str, Vec<Option<&str>>)> = Vec::new();
    for (at, (name, _)) in rows.first().into_iter().flatten().enumerate() {
        let mut values = Vec::new();
        for row in &distinct {
            if !values.contains(&row[at].1) {
                values.push(row[at].1);
            }
        }
        columns.push((name, values));
    }
    let combinations = columns.iter().fold(1_usize, |product, (_, values)| product.saturating_mul(values.len()));
    if combinations == distinct.len() {
        return vec![describe_properties(columns.iter().map(|(name, values)| (*name, values.as_slice())))];
    }
    distinct
        .iter()
        .map(|row| describe_properties(row.iter().map(|(name, value)| (*name, std::slice::from_ref(value)))))
        .collect()
}

/// Returns properties with their values, such as `gpu A100 or T4, driver 550`.
fn describe_properties<'a>(columns: impl Iterator<Item = (&'a str, &'a [Option<&'a str>])>) -> String {
    let columns: Vec<String> = columns
        .map(|(name, values)| {
            let values: Vec<_> =
                values.iter().map(|value| value.map_or("not declared".into(), escape_one_line)).collect();
            format!("{name} {}", values.join(" or "))
        })
        .collect();
    columns.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(gpu: &str, driver: Option<&str>, fate: &str) -> Scenario {
        let when = When {
            gpu: Some(gpu.to_owned()),
            driver: driver.map(str::to_owned),
            launch: Some("docker --gpus".to_owned()),
            mode: None,
            toolkit: None,
            brand: None,
            library_directory: None,
            build: None,
        };
        Scenario { when, fate: fate.parse().expect("a verdict"), outcome: None, steps: Vec::new() }
    }

    #[test]
    fn names_only_what_differs_and_never_a_host_that_is_not_there() {
        let all = [
            scenario("A100", Some("550"), "starts"),
            scenario("T4", Some("550"), "starts"),
            scenario("A100", None, "fails"),
            scenario("T4", Some("535"), "fails"),
        ];
        assert_eq!(common_properties(&all), "launch docker --gpus");
        let descriptions: Vec<_> = group_scenarios(&all).into_iter().map(|group| group.hosts).collect();
        assert_eq!(
            descriptions,
            [vec!["gpu A100 or T4, driver 550"], vec!["gpu A100, driver not declared", "gpu T4, driver 535"]]
        );
    }

    #[test]
    fn one_group_needs_no_names() {
        let all = [scenario("A100", None, "starts"), scenario("T4", None, "starts")];
        assert_eq!(group_scenarios(&all).len(), 1);
        assert!(group_scenarios(&all)[0].hosts.is_empty());
        assert!(group_scenarios(&[]).is_empty());
        assert_eq!(common_properties(&[]), "");
    }
}
