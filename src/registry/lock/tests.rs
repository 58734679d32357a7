use crate::model::reference::ImageReference;
use crate::registry::lock::{
    BaseImageLock, LockedBaseImage, locked_base_image, read_base_mappings, reference_with_default_tag,
};
use crate::registry::{ImageConfig, Platform, PulledImage};
use crate::text::source::SourceText;

const DIGEST: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// Returns the lock entry of an image with these environment variables.
fn locked_image(env: &[(&str, &str)]) -> LockedBaseImage {
    let config = ImageConfig {
        platform: Platform::new("linux", "amd64"),
        created: Some("2026-01-02T03:04:05Z".to_owned()),
        env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        labels: std::collections::BTreeMap::new(),
        entrypoint: vec!["/start".to_owned(), "a \"b\"\n\u{1b}[31m".to_owned()],
        cmd: Vec::new(),
        working_dir: String::new(),
        history: Vec::new(),
        layers: Vec::new(),
    };
    let pulled = PulledImage {
        reference: String::new(),
        index_digest: None,
        manifest_digest: DIGEST.to_owned(),
        config_digest: DIGEST.to_owned(),
        platforms: vec![Platform::new("linux", "arm64"), Platform::new("linux", "amd64")],
        config,
    };
    locked_base_image(&parse_reference("registry.corp/ml"), &pulled).expect("a platform")
}

fn parse_reference(text: &str) -> ImageReference {
    ImageReference::parse(text).expect(text)
}

/// Parses a lock file; returns all error messages in one string.
fn parse_lock(text: &str) -> Result<BaseImageLock, String> {
    let text = SourceText::new("imagelint.lock", text);
    BaseImageLock::parse(&text)
        .map_err(|errors| errors.all().iter().map(|one| one.message.clone()).collect::<Vec<_>>().join("; "))
}

#[test]
fn a_lock_round_trips_any_image_config() {
    let hostile = [
        ("NVIDIA_X\"] \n[[base]]", "a\"\\\n\u{0}\u{1b}]0;x\u{7}"),
        ("NVIDIA_REQUIRE_CUDA", "cuda>=12.4"),
        ("", "x"),
        ("CUDA_é", "é"),
    ];
    let mut lock = BaseImageLock::default();
    lock.insert(locked_image(&hostile));
    let text = lock.to_toml();
    assert!(!text.contains('\u{1b}') && !text.contains('\u{0}'), "{text}");
    let again = parse_lock(&text).expect("what was written");
    assert_eq!(again.to_toml(), text);
    assert_eq!(again.entries.len(), 1);
    let values: Vec<&str> = again.entries[0].env.iter().map(|(_, value)| value.value.as_str()).collect();
    assert_eq!(values, ["é", "cuda>=12.4", "a\"\\\n\u{0}\u{1b}]0;x\u{7}"]);
    assert_eq!(again.entries[0].platforms.value, ["linux/amd64", "linux/arm64"]);
}

#[test]
fn start_up_variables_are_stored() {
    for name in [
        "CUDA_VERSION",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "NVIDIA_DISABLE_REQUIRE",
        "NVIDIA_DRIVER_CAPABILITIES",
        "NVIDIA_REQUIRE_CUDA",
        "NVIDIA_REQUIRE_DRIVER",
        "NVIDIA_VISIBLE_DEVICES",
        "NV_CUDA_COMPAT_PACKAGE",
        "PATH",
        "PYTHON_VERSION",
    ] {
        let entry = locked_image(&[(name, "x")]);
        assert_eq!((entry.env.len(), entry.withheld.len()), (1, 0), "{name}");
    }
}

#[test]
fn secrets_and_unrelated_variables_are_not_stored() {
    let long = "x".repeat(8193);
    for (name, value) in [
        ("NPM_TOKEN", "hunter2"),
        ("NVIDIA_API_KEY", "hunter2"),
        ("CUDA_PASSWORD", "hunter2"),
        ("NV_auth", "hunter2"),
        ("PIP_INDEX_URL", "hunter2"),
        ("AWS_SECRET_ACCESS_KEY", "hunter2"),
        ("PYTHONX", "https://me:hunter2@host/simple"),
        ("CUDA_X", "a https://h/x,ftp://me:hunter2@host"),
        ("MY_PATH", "hunter2"),
        ("PATHS", "hunter2"),
        ("NVIDIA_X", long.as_str()),
    ] {
        let mut lock = BaseImageLock::default();
        lock.insert(locked_image(&[(name, value)]));
        let text = lock.to_toml();
        assert!(!text.contains("hunter2") && !text.contains(&long), "{name}: {text}");
        assert!(text.contains(&format!("withheld = [\"{name}\"]")), "{name}: {text}");
    }
}

#[test]
fn entries_are_sorted_and_replaced() {
    let of = |platform: &str, name: &str| {
        let mut entry = locked_image(&[]);
        (entry.platform, entry.reference.value) = (platform.to_owned(), name.to_owned());
        entry
    };
    let mut lock = BaseImageLock::default();
    for (platform, name) in
        [("linux/arm64", "b:1"), ("linux/amd64", "b:1"), ("linux/arm64", "a:1"), ("linux/arm64", "b:1")]
    {
        lock.insert(of(platform, name));
    }
    let order: Vec<(&str, &str)> =
        lock.entries.iter().map(|entry| (entry.reference.value.as_str(), entry.platform.as_str())).collect();
    assert_eq!(order, [("a:1", "linux/arm64"), ("b:1", "linux/amd64"), ("b:1", "linux/arm64")]);
}

#[test]
fn a_malformed_lock_is_an_error_with_its_reason() {
    let mut lock = BaseImageLock::default();
    lock.insert(locked_image(&[("CUDA_VERSION", "12.4.1")]));
    let good = lock.to_toml();
    for (from, to, expected) in [
        ("version = 1", "version = 2", "version 2 is not supported"),
        ("version = 1\n", "", "`version` is missing"),
        ("version = 1", "version = 1\nbases = 1", "unknown key `bases`"),
        ("digest = \"sha256", "digest = \"md5", "is not a digest"),
        ("config = \"sha256", "config = \"sha256:", "is not a digest"),
        ("reference = \"registry", "reference = \"a/REG", "is not a part of a repository name"),
        ("platform = \"linux/amd64\"", "platform = \"linux\"", "is not a platform"),
        ("platforms = [", "platforms = [\"\", ", "is not a platform"),
        ("platform = \"linux/amd64\"\n", "", "`platform` is missing"),
        ("created = \"", "created = 1 # \"", "`created` is an integer"),
        ("CUDA_VERSION = \"12.4.1\"", "CUDA_VERSION = 12", "`CUDA_VERSION` is an integer"),
        ("[base.env]", "[base.enf]", "unknown key `enf`"),
        ("[[base]]", "[[base", ""),
    ] {
        assert!(good.contains(from), "{from}");
        let error = parse_lock(&good.replacen(from, to, 1)).expect_err(to);
        assert!(error.contains(expected), "{to}: {error}");
    }
    let twice = good.clone() + &good.replacen("version = 1", "", 1);
    assert!(parse_lock(&twice).expect_err("twice").contains("duplicate entry"), "{twice}");
}

#[test]
fn references_have_a_default_tag() {
    for (text, expected) in
        [("python", "python:latest"), ("a.b/c:1", "a.b/c:1"), ("docker.io/library/python:3", "python:3")]
    {
        assert_eq!(reference_with_default_tag(&parse_reference(text)), expected);
    }
    let pinned = format!("a.b/c@{DIGEST}");
    assert_eq!(reference_with_default_tag(&parse_reference(&pinned)), pinned);
}

/// Whether a mapping with this pattern matches a reference.
fn pattern_matches(pattern: &str, text: &str) -> bool {
    let settings = SourceText::new("imagelint.toml", format!("[[base]]\nmatch = \"{pattern}\"\ndescribe = \"x\"\n"));
    let found = read_base_mappings(&settings, &mut |_| Ok(())).expect("settings");
    found[0].matches(&parse_reference(text))
}

#[test]
fn patterns_match_whole_references() {
    for (pattern, text, expected) in [
        ("registry.corp/ml-base:*", "registry.corp/ml-base:1.2", true),
        ("registry.corp/ml-base:*", "registry.corp/ml-base", true),
        ("registry.corp/*", "registry.corp/a/b:1", true),
        ("registry.corp/ml-base:*", "registry.corp/ml-base-2:1", false),
        ("registry.corp/ml-base:*", "evil.example/registry.corp/ml-base:1", false),
        ("registry.corp/ml-base", "registry.corp/ml-base:1", false),
        ("*:1", "registry.corp/a:2", false),
    ] {
        assert_eq!(pattern_matches(pattern, text), expected, "{pattern} {text}");
    }
}

#[test]
fn wrong_settings_are_errors_with_suggestions() {
    for (text, expected) in [
        ("[[base]]\nmatch = \"[\"\ndescribe = \"x\"", "error parsing glob"),
        ("[[base]]\nmatch = \"x\"", "`describe` is missing"),
        ("[[base]]\ndescribe = \"x\"", "`match` is missing"),
        ("[[base]]\nmatch = 1\ndescribe = \"x\"", "`match` is an integer"),
        ("[[base]]\nmatch = \"x\"\ndescribe = \"gone\"", "it is gone"),
        ("base = 1", "`base` is an integer"),
        ("[[base]]\nmatch = \"x\"\ndescribes = \"x\"", "did you mean `describe`?"),
        ("[[base]", ""),
    ] {
        let settings = SourceText::new("imagelint.toml", text);
        let mut load = |path: &str| if path == "gone" { Err("it is gone".to_owned()) } else { Ok(()) };
        let errors = read_base_mappings(&settings, &mut load).expect_err(text);
        let all: Vec<String> =
            errors.all().iter().map(|one| format!("{} {}", one.message, one.help.as_deref().unwrap_or(""))).collect();
        assert!(all.join("; ").contains(expected), "{text}: {all:?}");
    }
}
