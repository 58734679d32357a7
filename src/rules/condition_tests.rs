//! Tests of conditions: their meaning, errors with spans, and robustness against arbitrary input.

use crate::cuda::DottedVersion;
use crate::rules::condition::RuleCondition;
use crate::rules::value::{ComponentScopes, FactLookup, FactScope, FactValue, Truth};
use crate::rules::vocabulary::Vocabulary;

/// The facts of a test image.
struct TestImageScope {
    complete: bool,
}

/// A component by its name and CUDA release.
struct TestComponentScope(&'static str, Option<&'static str>);

impl FactScope for TestComponentScope {
    fn value(&self, name: &str) -> FactLookup {
        match (name, self.1) {
            ("component.name", _) => FactLookup::Known(FactValue::Text(self.0.to_owned())),
            ("component.cuda", Some(cuda)) => FactLookup::Known(FactValue::Version(DottedVersion::constant(cuda))),
            ("component.cuda", None) => FactLookup::Unknown,
            _ => FactLookup::Absent,
        }
    }
}

impl FactScope for TestImageScope {
    fn value(&self, name: &str) -> FactLookup {
        let text = |text: &str| FactLookup::Known(FactValue::Text(text.to_owned()));
        match name {
            "image.base.cuda" => FactLookup::Known(FactValue::Version(DottedVersion::constant("12.10"))),
            "image.base.tag" => text("12.4.1-devel"),
            "image.driver_libraries" => FactLookup::Known(FactValue::List(["cuda-drivers".to_owned()].into())),
            "image.gpu_content" => FactLookup::Known(FactValue::Bool(true)),
            "image.env.A" => text("x"),
            "image.packages" => FactLookup::Known(FactValue::Seen(["numpy".to_owned()].into())),
            "package.flash-attn" => text("2.8.3"),
            "day" => FactLookup::Known(FactValue::Date(jiff::civil::date(2026, 11, 21))),
            "pool.name" => FactLookup::Known(FactValue::Number(1)),
            "package.numpy" | "torch.version" | "torch.cuda" | "torch.present" => FactLookup::Absent,
            _ => FactLookup::Unknown,
        }
    }

    fn components(&self) -> ComponentScopes<'_> {
        let list: Vec<Box<dyn FactScope>> =
            vec![Box::new(TestComponentScope("torch", Some("12.4"))), Box::new(TestComponentScope("x", None))];
        ComponentScopes { list, complete: self.complete }
    }
}

/// Parses a valid condition.
fn parse_condition(text: &str) -> RuleCondition {
    RuleCondition::parse(text, &Vocabulary::built_in()).unwrap_or_else(|fault| panic!("{text}: {fault:?}"))
}

#[test]
fn conditions_are_true_false_or_unknown() {
    let rows: &[(Truth, &[&str])] = &[
        (
            Truth::True,
            &[
                r#"image.base.cuda > version("12.9")"#,
                r#"image.base.cuda == version("12.10.0") && major(image.base.cuda) == 12"#,
                r#"matches(image.base.tag, r"^12\.4\.\d-") || pool.gpu == "T4""#,
                "contains(image.driver_libraries, 'cuda-drivers')",
                "!(torch.version == \"2.1\") && !torch.present",
                "known(torch.version) && !present(torch.version) && !known(pool.gpu)",
                "components.exists(c, c.name == \"torch\" && c.cuda < image.base.cuda)",
                "components.all(c, c.name != \"jax\")",
                "(image.gpu_content && true) == !false",
                "image.env.A == 'x'",
                "contains(image.packages, 'numpy') && any_matches(image.packages, '^num')",
                "size(image.driver_libraries) == 1 && minor(image.base.cuda) == 10",
                "day > date('2026-09-30') && day < date('2027-01-01')",
                "version(package('Flash_Attn')) >= version('2.8') && present(package('flash-attn'))",
                "!present(package('numpy')) && known(package.numpy)",
            ],
        ),
        (
            Truth::False,
            &[
                "torch.version != \"2.1\"",
                "torch.version == pool.gpu",
                "major(torch.cuda) != major(image.base.cuda)",
                "pool.gpu == \"T4\" && false",
                "present(torch.version)",
                "components.all(c, c.name == \"torch\")",
                "components.exists(c, c.name == \"jax\")",
                "matches(torch.version, \"\")",
                "any_matches(image.driver_libraries, 'x')",
                "day == date('2026-11-20')",
                "package('numpy') == '1'",
            ],
        ),
        (
            Truth::Unknown,
            &[
                "pool.gpu == \"T4\"",
                "!(pool.gpu == \"T4\") && image.gpu_content",
                "present(pool.gpu)",
                "components.exists(c, c.cuda < version(\"12\"))",
                "contains(image.packages, 'scipy')",
                "any_matches(image.packages, '^sci')",
                "size(image.packages) == 1",
                "(pool.gpu == \"T4\") == true",
            ],
        ),
    ];
    for (expected, conditions) in rows {
        for text in *conditions {
            assert_eq!(parse_condition(text).evaluate(&TestImageScope { complete: true }), Ok(*expected), "{text}");
        }
    }
}

#[test]
fn a_fact_of_another_type_than_promised_is_an_error_and_no_pass() {
    for text in ["pool.name == \"a\"", "!(pool.name == \"a\")", "matches(pool.name, \"a\") || false"] {
        let misfit = parse_condition(text).evaluate(&TestImageScope { complete: true }).expect_err(text);
        assert_eq!(misfit.to_string(), "`pool.name` must be a string, and is a number", "{text}");
    }
}

#[test]
fn texts_are_compared_as_the_versions_that_they_begin_with() {
    for (text, expected) in [
        ("version(image.base.tag) >= version(\"12.4\")", Truth::True),
        ("version(image.base.tag) > version(\"12.4.1\")", Truth::False),
        ("version(image.base.tag) < image.base.cuda", Truth::True),
        ("major(version(image.base.tag)) == 12", Truth::True),
        ("version(torch.version) >= version(\"2.0\")", Truth::False),
        ("version(image.env.A) >= version(\"2.0\")", Truth::Unknown),
        ("version(torch.variant) >= version(\"2.0\")", Truth::Unknown),
    ] {
        assert_eq!(parse_condition(text).evaluate(&TestImageScope { complete: true }), Ok(expected), "{text}");
    }
}

#[test]
fn a_component_that_was_not_seen_may_be_any() {
    let partly = TestImageScope { complete: false };
    for (text, expected) in [
        ("components.exists(c, c.name == \"jax\")", Truth::Unknown),
        ("components.exists(c, c.name == \"torch\")", Truth::True),
        ("components.all(c, c.name != \"jax\")", Truth::Unknown),
        ("components.all(c, c.name == \"torch\")", Truth::False),
    ] {
        assert_eq!(parse_condition(text).evaluate(&partly), Ok(expected), "{text}");
    }
}

#[test]
fn condition_error_is_underlined() {
    let deep = format!("{}true{}", "(".repeat(100), ")".repeat(100));
    let nots = format!("{}true", "!".repeat(4000));
    let long = "true || ".repeat(600);
    for (text, under, help) in [
        ("image.base.cude > version(\"12\")", "image.base.cude", "image.base.cuda"),
        ("image.base.cuda > \"12.4\"", "image.base.cuda > \"12.4\"", "version(\"12.4\")"),
        ("image.base.cuda > 12.4", "12.4", "version(\"12.4\")"),
        ("image.base.tag < \"b\"", "image.base.tag < \"b\"", ""),
        ("day > \"2026-01-31\"", "day > \"2026-01-31\"", "write `date(\"2026-01-31\")`"),
        ("day > torch.version", "day > torch.version", ""),
        ("torch.version >= \"2.0\"", "torch.version >= \"2.0\"", "`version(torch.version)` and `version(\"2.0\")`"),
        ("torch.version >= version(\"2.0\")", "torch.version >= version(\"2.0\")", "write `version(torch.version)`"),
        ("version(image.base.cuda) > version(\"1\")", "image.base.cuda", ""),
        ("env.NVIDIA_VISIBLE_DEVICES == \"all\"", "env.NVIDIA_VISIBLE_DEVICES", "`image.env.NVIDIA_VISIBLE_DEVICES`"),
        ("base.tag == \"a\"", "base.tag", "`image.base.tag`"),
        ("image.base.matches(\"a\")", "image.base.matches", "write `matches(image.base, …)`"),
        ("frobnicate(image.base)", "frobnicate", "the functions are version, major, minor"),
        ("image.base.tag", "image.base.tag", "compare"),
        ("torch.present and torch.pinned", "and", "&&"),
        ("torch.present & torch.pinned", "&", "&&"),
        ("not torch.present", "not", "!"),
        ("match(image.base.tag, \"a\")", "match", "matches"),
        ("matches(image.base.tag)", "matches(image.base.tag)", "matches("),
        ("matches(image.base.tag, \"(\")", "\"(\"", ""),
        ("matches(image.base.tag, r\"\\w{2000}\")", "r\"\\w{2000}\"", ""),
        ("matches(image.base.tag, image.base.tag)", "image.base.tag", ""),
        ("matches(image.base.tag, \"\\d\")", "\\", "r\""),
        ("version(\"12.x\") < image.base.cuda", "\"12.x\"", ""),
        ("major(image.base.tag) == 1", "image.base.tag", ""),
        ("major(torch.present && true) == 1", "torch.present && true", ""),
        ("known(\"x\")", "\"x\"", ""),
        ("date(torch.version) > day", "torch.version", "date("),
        ("date(\"2026-13-01\") > day", "\"2026-13-01\"", "2026-01-31"),
        ("day > version(\"1\")", "day > version(\"1\")", ""),
        ("package(torch.version) == \"1\"", "torch.version", "package("),
        ("present(version(\"1\"))", "version(\"1\")", "present("),
        ("size(image.base) > 1", "image.base", ""),
        ("size(image.packages, 1) > 1", "size(image.packages, 1)", "size("),
        ("any_matches(image.packages, image.base)", "image.base", ""),
        ("image.packages == image.packages", "image.packages == image.packages", "contains"),
        ("minor(12) == 1", "12", ""),
        ("component.name == \"x\"", "component.name", "components.exists"),
        ("components.exists(c, c.nam == \"x\")", "c.nam", "c.name"),
        ("components.exists(c, components.all(d, d.name == \"x\"))", "components.all(d, d.name == \"x\")", ""),
        ("components.exists(c.d, true)", "c.d", ""),
        ("verdict.outcome == \"refusd\"", "\"refusd\"", "did you mean `refused`?"),
        ("\"no_gpu\" == verdict.outcome", "\"no_gpu\"", "did you mean `no-gpu`?"),
        ("verdict.outcome != \"starts\"", "\"starts\"", ""),
        ("verdict.fate == \"fail\"", "\"fail\"", "did you mean `fails`?"),
        ("verdict.fate == \"Starts\"", "\"Starts\"", "did you mean `starts`?"),
        ("!(pool.launch == \"docker-gpu\")", "\"docker-gpu\"", "did you mean `docker-gpus`?"),
        ("pool.launch == \"slurm\"", "\"slurm\"", "one of: docker-gpus, "),
        ("pool.mode == \"\"", "\"\"", "one of: legacy, "),
        ("step.devices == \"pass\"", "\"pass\"", "did you mean `passes`?"),
        ("1 < 2 < 3", "<", "&&"),
        ("true true", "true", ""),
        ("image..base == \"\"", "image..base", ""),
        ("\"open", "\"open", ""),
        ("true &&", "", ""),
        ("", "", ""),
        ("99999999999999999999 == 1", "99999999999999999999", ""),
        ("é == 1", "é", ""),
        (&deep, "(", ""),
        (&nots, "!", ""),
        (&long, "t", ""),
    ] {
        let fault = RuleCondition::parse(text, &Vocabulary::built_in()).expect_err(text);
        assert_eq!(&text[fault.span.start..fault.span.end], under, "{text}: {}", fault.message);
        let given = fault.help.unwrap_or_default();
        assert!(given.contains(help), "{text}: {given}");
    }
}

#[test]
fn fact_is_compared_with_all_its_possible_values() {
    let words = Vocabulary::built_in();
    let mut closed = 0;
    for entry in words.entries {
        for word in words.allowed_values(entry.name).unwrap_or_default() {
            closed += 1;
            parse_condition(&format!("{} == \"{word}\" || \"{word}\" != {}", entry.name, entry.name));
        }
    }
    assert!(100 < closed, "{closed}");
    // A value without a fixed list of words is compared with any text, also next to a fact that has one.
    for open in
        ["pool.name == \"refusd\"", "verdict.message == \"x\"", "pool.mode == pool.name", "pool.platform == \"x\""]
    {
        parse_condition(open);
    }
}

#[test]
fn a_long_flat_condition_is_no_deep_one() {
    let text = vec!["true"; 500].join(" && ");
    assert_eq!(parse_condition(&text).evaluate(&TestImageScope { complete: true }), Ok(Truth::True));
}

#[test]
fn facts_are_listed_under_their_full_names() {
    let condition = parse_condition("components.exists(c, c.name == image.base) && present(pool.gpu)");
    assert_eq!(condition.facts(), ["component.name", "image.base", "pool.gpu"]);
}

#[test]
fn no_mutation_makes_it_fall_over() {
    let seeds = [
        r#"components.exists(c, c.name == "torch" && c.cuda < version("12.4")) || !known(torch.version)"#,
        r#"matches(image.base.tag, r"^(12|13)\.[0-9]+") && (major(torch.cuda) != 12) == true"#,
    ];
    let inserts = ["(", ")", "!", "\"", "'", "\\", "r\"", "é", ".", ",", "&&", "|", "<", "0", "c.", "\u{0}", " "];
    // A fixed linear congruential sequence, so that a failure comes back.
    let mut state = 7_u64;
    let mut next = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap_or(0) % bound.max(1)
    };
    for round in 0..20_000 {
        let mut text: Vec<char> = seeds[round % seeds.len()].chars().collect();
        for _ in 0..=next(4) {
            let at = next(text.len());
            match next(3) {
                0 if !text.is_empty() => drop(text.remove(at)),
                1 => text.truncate(text.len() - next(4).min(text.len())),
                _ => drop(text.splice(at..at, inserts[next(inserts.len())].chars())),
            }
        }
        let text: String = text.into_iter().collect();
        match RuleCondition::parse(&text, &Vocabulary::built_in()) {
            Ok(condition) => drop(format!("{:?}", condition.evaluate(&TestImageScope { complete: false }))),
            Err(fault) => assert!(text.get(fault.span.start..fault.span.end).is_some(), "{text}: {fault:?}"),
        }
    }
}
