use std::path::Path;

use jiff::civil::date;

use super::*;
use crate::text::source::{SourceText, Sources};

const VOCABULARY: SettingVocabulary<'_> = SettingVocabulary {
    personas: &["regular", "pedantic"],
    levels: &["error", "never"],
    is_platform: |text| text.starts_with("linux/"),
};

/// Reads settings and checks their names; on failure the messages of all errors.
fn read_and_check(text: &str) -> Result<Settings, Vec<String>> {
    let text = SourceText::new("imagelint.toml", text);
    let source = Sources::default().add(text.clone());
    let error_messages = |problems: Box<crate::knowledge::toml_reader::Problems>| {
        let all = problems.all().iter();
        all.map(|one| format!("{}: {}; {}", text.slice(one.span), one.message, one.help.clone().unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    let settings = read_settings(source, &text, Path::new("/repo"), VOCABULARY).map_err(error_messages)?;
    let known = KnownNames { rules: &["torch-unpinned", "insufficient-driver"], pools: Some(&["train-a", "serve"]) };
    check_names(&settings, &text, known).map_err(error_messages)?;
    Ok(settings)
}

/// Returns the settings as they apply to a path.
fn settings_for_path<'a>(settings: &'a Settings, path: &'a str) -> InputSettings<'a> {
    InputSettings { settings, path: Some(Path::new(path)), today: date(2026, 11, 21) }
}

#[test]
fn settings_error_is_underlined_with_the_closest_keyword() {
    for (text, at, expected) in [
        ("flete = 'x'", "flete", "unknown key `flete`; did you mean `fleet`?"),
        ("fleet = 1", "1", "`fleet` is an integer, expected a string; put it in quotes: \"1\""),
        ("fleet = ' '", "' '", "`fleet` is empty"),
        ("persona = 'pedant'", "'pedant'", "unknown persona `pedant`; did you mean `pedantic`?"),
        ("fail-on = 'warn'", "'warn'", "unknown fail-on `warn`; one of error, never"),
        ("rules = ['x']", "['x']", "`rules` is not a table of rules; for directories with your own rule pages"),
        (
            "rules.torch-unpined = 'off'",
            "torch-unpined",
            "there is no rule `torch-unpined`; did you mean `torch-unpinned`?",
        ),
        ("rules.torch-unpinned = 'of'", "'of'", "unknown severity `of`; did you mean `off`?"),
        ("rules.torch-unpinned.level = 'off'", "level", "unknown key `level`; the keys are severity, pools"),
        (
            "rules.torch-unpinned.pools.trian-a = 'off'",
            "trian-a",
            "the fleet has no pool `trian-a`; did you mean `train-a`?",
        ),
        ("rules.torch-unpinned.pools.'[' = 'off'", "'['", "unclosed character class"),
        ("exclude = ['../x']", "'../x'", "`../x` is not a path below the directory of this file"),
        ("exclude = ['/etc/**']", "'/etc/**'", "`/etc/**` is not a path below"),
        ("exclude = ['a', 2]", "2", "`exclude` is an integer"),
        ("platform = 'amd64'", "'amd64'", "`amd64` is not a platform"),
        ("trusted-registries = ['nvcr.io/nvidia']", "'nvcr.io/nvidia'", "`nvcr.io/nvidia` is not a registry"),
        ("trusted-registries = ['*']", "'*'", "`*` is not a registry"),
        ("build-args = { A = 1 }", "1", "`A` is an integer, expected a string"),
        ("as-of = '2026-01-01'", "'2026-01-01'", "`as-of` is a string, expected a date without quotes"),
        ("[[ignore]]\nrule = 'torch-unpinned'", "[[ignore]]", "an ignore entry without `reason`"),
        ("[[ignore]]\nreason = 'x'", "[[ignore]]", "an ignore entry without `rule`"),
        ("[[ignore]]\nrule = 'torch'\nreason = 'x'", "'torch'", "there is no rule `torch`"),
        ("[[ignore]]\nrule = 'torch-unpinned'\nreason = ''", "''", "`reason` is empty"),
        ("[[ignore]]\nrule = 'torch-unpinned'\nreason = 'x'\nuntill = 2026-01-01", "untill", "did you mean `until`?"),
        ("[[ignore]]\nrule = 'torch-unpinned'\nreason = 'x'\npaths = []", "paths", "`paths` is empty"),
        ("[[ignore]]\nrule = 'torch-unpinned'\nreason = 'x'\npools = 'gone'", "'gone'", "the fleet has no pool `gone`"),
        ("[[paths]]\ntarget = 'x'", "[[paths]]", "`match` is missing"),
        ("[[paths]]\nmatch = 'a'\nfleet = 'x'", "fleet", "unknown key `fleet`"),
        ("a = ", "", "string values must be quoted"),
    ] {
        let messages = read_and_check(text).expect_err(text);
        assert_eq!(messages.len(), 1, "{text}: {messages:?}");
        assert!(
            messages[0].contains(expected) && (at.is_empty() || messages[0].starts_with(at)),
            "{text}: {messages:?}"
        );
    }
}

#[test]
fn every_mistake_is_reported_at_once() {
    let messages = read_and_check("flete = 'x'\npersona = 1\n[[ignore]]\nrul = 'x'\n").expect_err("mistakes");
    assert_eq!(messages.len(), 5, "{messages:?}");
}

#[test]
fn most_specific_rule_setting_applies() {
    let settings = read_and_check(
        "[rules.torch-unpinned]\nseverity = 'note'\npools = { 'train-*' = 'error' }\n\
         [[paths]]\nmatch = 'a/**'\nrules = { torch-unpinned = 'off' }\n",
    )
    .expect("settings");
    let level = |path, rule, pool| settings_for_path(&settings, path).rule_severity(rule, pool);
    assert_eq!(level("/repo/b", "torch-unpinned", None), Some(SeverityLevel::Note));
    assert_eq!(level("/repo/b", "torch-unpinned", Some("train-a")), Some(SeverityLevel::Error));
    assert_eq!(level("/repo/b", "torch-unpinned", Some("serve")), Some(SeverityLevel::Note));
    assert_eq!(level("/repo/a/x", "torch-unpinned", Some("train-a")), Some(SeverityLevel::Off));
    assert_eq!(level("/else/a/x", "torch-unpinned", None), Some(SeverityLevel::Note));
    assert_eq!(level("/repo/a/x", "insufficient-driver", None), None);
}

#[test]
fn ignore_applies_to_its_files_and_pools_until_its_expiry() {
    let settings = read_and_check(
        "[[ignore]]\nrule = 'insufficient-driver'\nreason = 'x'\npaths = 'old'\npools = 'train-*'\nuntil = 2026-11-21\n\
         [[ignore]]\nrule = 'torch-unpinned'\nreason = 'x'\nuntil = 2026-11-20\n",
    )
    .expect("settings");
    let left = |path, rule, pool| settings_for_path(&settings, path).matching_ignore(rule, pool).is_some();
    assert!(!left("/repo/new/Dockerfile", "insufficient-driver", Some("train-a")), "another file");
    assert!(!left("/repo/old/Dockerfile", "insufficient-driver", Some("serve")), "another pool");
    assert!(!left("/repo/old/Dockerfile", "insufficient-driver", None), "no pool");
    assert!(!left("/repo/old/Dockerfile", "torch-unpinned", None), "its day is over");
    assert!(settings.ignores.iter().all(|ignore| !ignore.was_used()));
    assert!(left("/repo/old/Dockerfile", "insufficient-driver", Some("train-a")));
    assert_eq!(settings.ignores.iter().map(IgnoreEntry::was_used).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn a_file_overrides_its_base() {
    let below = read_and_check(
        "fleet = 'b'\npersona = 'pedantic'\nbuild-args = { A = '1', B = '2' }\nrules.torch-unpinned = 'off'",
    );
    let above = read_and_check("fleet = 'a'\nbuild-args = { B = '3' }\nrules.torch-unpinned = 'note'\nexclude = 'x'");
    let all = above.expect("above").merge_over(below.expect("below"));
    assert_eq!(all.fleet.as_ref().map(|set| set.value.as_str()), Some("a"));
    assert_eq!(all.persona.as_ref().map(|set| set.value.as_str()), Some("pedantic"));
    let args: Vec<(&str, &str)> =
        all.build_args.iter().map(|(name, set)| (name.as_str(), set.value.as_str())).collect();
    assert_eq!(args, [("A", "1"), ("B", "3")]);
    assert_eq!(settings_for_path(&all, "/repo/x").rule_severity("torch-unpinned", None), Some(SeverityLevel::Note));
}

#[test]
fn registries_are_trusted_by_their_whole_name() {
    let settings = read_and_check("trusted-registries = ['nvcr.io', '*.corp', 'host:5000']").expect("settings");
    let list = settings.trusted_registries.expect("a list");
    for (registry, trusted) in [
        ("nvcr.io", true),
        ("registry.corp", true),
        ("a.b.corp", true),
        ("host:5000", true),
        ("corp", false),
        (".corp", false),
        ("evilcorp", false),
        ("nvcr.io.evil.com", false),
        ("evil-nvcr.io", false),
        ("host", false),
        ("docker.io", false),
    ] {
        assert_eq!(is_trusted_registry(&list, registry), trusted, "{registry}");
    }
}
