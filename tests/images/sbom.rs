//! Lists of packages attached to images: attestations, referrers, and malformed lists.

use std::path::Path;

use imagelint::registry::{ImageSbom, ImageSource, PullError, PullOptions, PullProblem, Puller};
use serde_json::{Value, json};
use support::oci_layout;
use support::registry::Registry;
use test_repository::{FLEET, TestRepository, code, err, fates, out};

use crate::support;
use crate::support::test_repository;

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const SPDX: &str = r#"{"predicateType":"https://spdx.dev/Document",
    "predicate":{"packages":[{"name":"torch","versionInfo":"2.6.0"},{"name":"numpy","versionInfo":"2.1"}]}}"#;

/// The list of packages of the image for each platform, or the error.
fn claims(text: &str) -> Vec<Result<Option<ImageSbom>, PullError>> {
    let puller = Puller::new(PullOptions::default()).expect("a puller");
    let opened = puller.open(&ImageSource::parse(text).expect("a source"), &[]).expect("images");
    opened.images.iter().map(|image| opened.blobs.sbom(image)).collect()
}

fn names(claims: &Result<Option<ImageSbom>, PullError>) -> Option<Vec<String>> {
    let claims = claims.as_ref().unwrap_or_else(|error| panic!("{error}"));
    claims.as_ref().map(|claims| claims.packages.iter().map(|claim| claim.name.to_string()).collect())
}

/// The descriptor of a manifest with one list of packages.
fn list(folder: &Path, predicate: &str, text: &str) -> Value {
    let config = oci_layout::blob(folder, "application/vnd.oci.image.config.v1+json", b"{}");
    let mut statement = oci_layout::blob(folder, "application/vnd.in-toto+json", text.as_bytes());
    statement["annotations"] = json!({"in-toto.io/predicate-type": predicate});
    oci_layout::manifest(folder, &config, &statement)
}

fn index(folder: &Path, entries: &[Value]) -> Value {
    let document = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries});
    oci_layout::blob(folder, INDEX, document.to_string().as_bytes())
}

/// An index of two images, the first with an attestation; and the digest of the second.
fn sample(folder: &Path, predicate: &str, text: &str) -> (Value, String) {
    let mut images = Vec::new();
    for architecture in ["amd64", "arm64"] {
        let mut image = oci_layout::image(folder, architecture);
        image["platform"] = json!({"os": "linux", "architecture": architecture});
        images.push(image);
    }
    let second = images[1]["digest"].as_str().expect("a digest").to_owned();
    let mut attestation = list(folder, predicate, text);
    attestation["platform"] = json!({"os": "unknown", "architecture": "unknown"});
    attestation["annotations"] = json!({
        "vnd.docker.reference.type": "attestation-manifest",
        "vnd.docker.reference.digest": images[0]["digest"]
    });
    images.push(attestation);
    (index(folder, &images), second)
}

#[test]
fn an_attestation_applies_only_to_its_image() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let (root, second) = sample(folder.path(), "https://spdx.dev/Document", SPDX);
    let other = list(folder.path(), "https://spdx.dev/Document", &SPDX.replace("torch", "jax"));
    let referrers = index(folder.path(), &[other]);
    oci_layout::finish(folder.path(), &[("many", root), ("referrers", referrers)]);
    let expected = Some(vec!["torch".to_owned(), "numpy".to_owned()]);
    let found = claims(&format!("oci:{}:many", folder.path().display()));
    assert_eq!((names(&found[0]), names(&found[1])), (expected.clone(), None));

    let registry = Registry::open();
    registry.push(folder.path(), "many", "team/app:1", None);
    let name = format!("{}/team/app:1", registry.host());
    let found = claims(&name);
    assert_eq!((names(&found[0]), names(&found[1])), (expected.clone(), None));

    // The tag that stands in for a registry that keeps no referrers.
    registry.push(folder.path(), "referrers", &format!("team/app:{}", second.replacen(':', "-", 1)), None);
    let found = claims(&name);
    assert_eq!((names(&found[0]), names(&found[1])), (expected, Some(vec!["jax".into(), "numpy".into()])));
}

#[test]
fn attestation_without_sbom_is_ignored_and_broken_sbom_is_an_error() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let name = format!("oci:{}:x", folder.path().display());
    let provenance = sample(folder.path(), "https://slsa.dev/provenance/v1", SPDX).0;
    oci_layout::finish(folder.path(), &[("x", provenance)]);
    assert_eq!(names(&claims(&name)[0]), None);
    let broken = sample(folder.path(), "https://spdx.dev/Document", "{\"predicate\":1}").0;
    oci_layout::finish(folder.path(), &[("x", broken)]);
    let error = claims(&name).remove(0).expect_err("no list");
    assert!(matches!(*error.problem, PullProblem::Malformed { .. }), "{error}");
    assert!(error.to_string().contains("list of packages"), "{error}");
    let changed = sample(folder.path(), "https://spdx.dev/Document", SPDX).0;
    oci_layout::finish(folder.path(), &[("x", changed)]);
    let digest = oci_layout::sha256(SPDX.as_bytes());
    let blob = folder.path().join("blobs/sha256").join(digest.trim_start_matches("sha256:"));
    std::fs::write(&blob, SPDX.replace("torch", "t0rch")).expect("blob");
    let error = claims(&name).remove(0).expect_err("changed");
    assert!(matches!(*error.problem, PullProblem::WrongDigest { .. }), "{error}");
    std::fs::write(&blob, SPDX.replace("torch", "torch2")).expect("blob");
    let error = claims(&name).remove(0).expect_err("longer");
    assert!(matches!(*error.problem, PullProblem::WrongSize { .. }), "{error}");
}

const LIST: &str = r#"{"predicateType":"https://spdx.dev/Document","predicate":{"packages":[
    {"name":"torch","versionInfo":"2.6.0","externalRefs":[
        {"referenceType":"purl","referenceLocator":"pkg:pypi/torch@2.6.0"}]},
    {"name":"bash","versionInfo":"5.2","externalRefs":[
        {"referenceType":"purl","referenceLocator":"pkg:deb/debian/bash@5.2"}]}]}}"#;

/// A place with the layout of an index whose first image has this list.
fn place_with(predicate: &str, text: &str) -> TestRepository {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", FLEET);
    let folder = repository.path("images");
    oci_layout::finish(&folder, &[("x", sample(&folder, predicate, text).0)]);
    repository
}

const SCAN: &[&str] = &["scan", "oci:images:x", "--depth", "sbom"];

/// The verdict on torch for the pool whose driver is new enough for the image itself.
fn torch_on_new(report: &Value) -> Value {
    let mut verdicts = report["subjects"][0]["verdicts"].as_array().expect("verdicts").iter();
    let of_torch = |verdict: &&Value| verdict["component"] == "torch" && verdict["pool"] == "new";
    verdicts.find(of_torch).unwrap_or_else(|| panic!("no torch: {report:#}")).clone()
}

fn notes(report: &Value) -> String {
    report["subjects"][0]["inspected"]["notes"].to_string()
}

#[test]
fn sbom_proves_only_listed_packages() {
    let repository = place_with("https://spdx.dev/Document", LIST);
    let report = repository.json(SCAN);
    assert_eq!(report["subjects"][0]["inspected"]["depth"], "sbom", "{report:#}");
    assert!(notes(&report).contains("2 packages, 1 of them concerns a GPU"), "{}", notes(&report));
    let torch = torch_on_new(&report);
    let confidence = torch["confidence"].as_str().expect("a word");
    assert!(["declared", "inferred", "assumed"].contains(&confidence), "{torch:#}");
    let facts = report["subjects"][0]["facts"].as_array().expect("facts");
    let claimed = facts.iter().find(|fact| fact["key"] == "package.torch").expect("a fact");
    let digest = oci_layout::sha256(LIST.as_bytes());
    assert_eq!(claimed["origins"][0]["path"], format!("SBOM {digest}"), "{claimed:#}");
    // The configuration alone knows of no torch, and layers say what is there.
    let config = repository.json(&["scan", "oci:images:x", "--depth", "config"]);
    assert!(!fates(&config).iter().any(|fate| fate.contains("torch")), "{config:#}");
    let layers = repository.json(&["scan", "oci:images:x"]);
    assert!(!fates(&layers).iter().any(|fate| fate.contains("torch")), "{layers:#}");
    let human = repository.run(&["scan", "oci:images:x", "--depth", "sbom"]);
    let human = out(&human).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(human.contains("layers were not read"), "{human}");
}

#[test]
fn missing_or_broken_sbom_falls_back_to_the_config_with_a_note() {
    let repository = place_with("https://slsa.dev/provenance/v1", LIST);
    let report = repository.json(SCAN);
    assert_eq!(report["subjects"][0]["inspected"]["depth"], "config");
    let told = "found no list of packages (SBOM) for the image";
    assert!(notes(&report).contains(told), "{}", notes(&report));
    let human = out(&repository.run(&["scan", "oci:images:x", "--depth", "sbom"]));
    assert_eq!(human.matches(told).count(), 1, "{human}");
    assert!(!out(&repository.run(&["scan", "oci:images:x", "--depth", "config"])).contains("(SBOM)"));
    for broken in ["{\"predicate\":1}", "[", "{\"predicate\":{\"packages\":[{\"name\":7}]}}"] {
        let repository = place_with("https://spdx.dev/Document", broken);
        let done = repository.run(&["scan", "oci:images:x", "--depth", "sbom"]);
        assert_ne!(code(&done), 2, "{}", err(&done));
        let report = repository.json(SCAN);
        assert_eq!(report["subjects"][0]["inspected"]["depth"], "config");
        assert!(notes(&report).contains("cannot read the list of packages (SBOM) of the image"), "{}", notes(&report));
    }
    // Several environments may have several versions, and it is unknown which one counts.
    let again = LIST.replace("{\"name\":\"bash\"", "{\"name\":\"torch\",\"versionInfo\":\"2.1.0\"},{\"name\":\"bash\"");
    let several = place_with("https://spdx.dev/Document", &again).json(SCAN);
    let one = place_with("https://spdx.dev/Document", LIST).json(SCAN);
    let said = |report: &Value| torch_on_new(report)["message"].to_string();
    assert_eq!(torch_on_new(&several)["fate"], "undetermined");
    assert!(
        said(&several).contains("the SBOM of the image lists several versions of torch: 2.6.0, 2.1.0"),
        "{}",
        said(&several)
    );
    assert!(!said(&one).contains("several versions"), "{}", said(&one));
}
