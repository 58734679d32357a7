//! Audits of many images: the sources of their names, what one run reads only once and the next not at all, and the
//! progress reports.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Stdio;

use scripted_server::{Reply, Request, ScriptedServer};
use serde_json::{Value, json};
use test_repository::{FLEET, TestRepository, code, err, out};

use crate::support::{oci_layout, scripted_server, test_repository};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// An archive with one file.
fn archive(name: &str) -> Vec<u8> {
    let mut header = tar::Header::new_ustar();
    header.set_path(name).expect("a path");
    header.set_size(4);
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend(b"text");
    bytes.resize(bytes.len() + 508 + 1024, 0);
    bytes
}

/// Writes an image with layers of these files, and gives the descriptor of its manifest.
fn image(folder: &Path, cuda: &str, files: &[&str]) -> Value {
    let mut config = oci_layout::config("amd64");
    let layers: Vec<Vec<u8>> = files.iter().map(|name| archive(name)).collect();
    config["config"]["Env"] = json!([
        format!("NVIDIA_REQUIRE_CUDA=cuda>={cuda}"),
        "NVIDIA_VISIBLE_DEVICES=all",
        "NVIDIA_DRIVER_CAPABILITIES=compute,utility"
    ]);
    config["rootfs"]["diff_ids"] = layers.iter().map(|layer| json!(oci_layout::sha256(layer))).collect();
    config["history"] = files.iter().map(|name| json!({"created_by": format!("COPY {name} /")})).collect();
    let config = oci_layout::blob(folder, CONFIG, config.to_string().as_bytes());
    let layers: Vec<Value> = layers.iter().map(|layer| oci_layout::blob(folder, LAYER, layer)).collect();
    let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers});
    oci_layout::blob(folder, MANIFEST, manifest.to_string().as_bytes())
}

/// A place with a layout of `a` and `b`, which share a layer, and `c`.
fn place() -> TestRepository {
    let place = TestRepository::empty();
    place.file("fleet.toml", FLEET);
    let folder = place.path("images");
    let a = image(&folder, "12.4", &["etc/shared", "etc/a"]);
    let b = image(&folder, "11.0", &["etc/shared", "etc/b"]);
    let c = image(&folder, "12.8", &["etc/c"]);
    oci_layout::finish(&folder, &[("a", a), ("b", b), ("c", c)]);
    place
}

/// A repository that holds a Helm chart.
mod helm {
    use super::*;

    pub(crate) fn tags(tags: &[&str]) -> Reply {
        Reply::Whole("200 OK", Vec::new(), json!({ "name": "any", "tags": tags }).to_string().into_bytes())
    }

    pub(crate) fn chart() -> Reply {
        let of = |kind: &str| json!({"mediaType": kind, "digest": format!("sha256:{:064x}", 7), "size": 7});
        let config = of("application/vnd.cncf.helm.config.v1+json");
        let layers = [of("application/vnd.cncf.helm.chart.content.v1.tar+gzip")];
        let body = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers});
        Reply::Whole("200 OK", vec![format!("Content-Type: {MANIFEST}")], body.to_string().into_bytes())
    }
}

/// A registry that serves the layout as the repository `team/app`, with a list of tags in two pages.
fn registry(place: &TestRepository) -> ScriptedServer {
    registry_with(place, |_, _| None)
}

/// The same with other answers for some blobs, by the name of their file and their length.
fn registry_with(
    place: &TestRepository,
    other: impl Fn(&str, usize) -> Option<Reply> + Send + Sync + 'static,
) -> ScriptedServer {
    let folder = place.path("images");
    let index: Value = serde_json::from_slice(&fs::read(folder.join("index.json")).expect("index")).expect("json");
    let mut tags = BTreeMap::new();
    for manifest in index["manifests"].as_array().expect("manifests") {
        let name = manifest["annotations"]["org.opencontainers.image.ref.name"].as_str().expect("a name");
        tags.insert(name.to_owned(), manifest["digest"].as_str().expect("a digest").to_owned());
    }
    let not_found = || Reply::Whole("404 Not Found", Vec::new(), b"{}".to_vec());
    ScriptedServer::start(move |_, request: &Request| {
        let path = request.line.split(' ').nth(1).unwrap_or_default();
        match path {
            "/v2/team/mixed/tags/list?n=1000" => return helm::tags(&["a", "chart"]),
            "/v2/team/charts/tags/list?n=1000" => return helm::tags(&["chart"]),
            "/v2/team/mixed/manifests/chart" | "/v2/team/charts/manifests/chart" => return helm::chart(),
            _ => {}
        }
        let own = path.strip_prefix("/v2/team/app/").or_else(|| path.strip_prefix("/v2/team/mixed/"));
        let Some(path) = own else { return not_found() };
        match path.split_once('?').unwrap_or((path, "")) {
            ("tags/list", "n=1000") => {
                let next = "Link: </v2/team/app/tags/list?n=1000&last=b>; rel=\"next\"".to_owned();
                let body = json!({"name": "team/app", "tags": ["b", "c"]}).to_string();
                return Reply::Whole("200 OK", vec![next], body.into_bytes());
            }
            ("tags/list", _) => {
                let signature = format!("sha256-{:064x}.sig", 1);
                let body = json!({"name": "team/app", "tags": ["a", signature]}).to_string();
                return Reply::Whole("200 OK", Vec::new(), body.into_bytes());
            }
            _ => {}
        }
        let (kind, version) = path.split_once('/').unwrap_or_default();
        let digest = tags.get(version).map_or(version, String::as_str);
        let file = digest.trim_start_matches("sha256:");
        match fs::read(folder.join("blobs/sha256").join(file)) {
            Ok(bytes) => {
                if let Some(reply) = other(file, bytes.len()) {
                    return reply;
                }
                let media_type = if kind == "manifests" { MANIFEST } else { "application/octet-stream" };
                Reply::Whole("200 OK", vec![format!("Content-Type: {media_type}")], bytes)
            }
            Err(_) => not_found(),
        }
    })
}

/// What of a kind was asked for since so many requests.
fn requests_containing(registry: &ScriptedServer, since: usize, kind: &str) -> Vec<String> {
    let lines = registry.seen().into_iter().skip(since).map(|request| request.line);
    lines.filter(|line| line.contains(kind)).collect()
}

fn names(report: &Value) -> Vec<String> {
    let subjects = report["subjects"].as_array().expect("subjects");
    subjects.iter().map(|subject| subject["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn second_scan_reads_no_layer_and_reports_the_same() {
    let place = place();
    let registry = registry(&place);
    let name = format!("{}/team/app:a", registry.host());
    let first = place.json(&["scan", &name]);
    assert_eq!(first["subjects"][0]["inspected"]["depth"], "layers", "{first:#}");
    assert_eq!(requests_containing(&registry, 0, "/blobs/").len(), 3, "config and two layers");
    let since = registry.seen().len();
    assert_eq!(place.json(&["scan", &name]), first);
    assert_eq!(requests_containing(&registry, since, "/manifests/").len(), 1);
    assert_eq!(requests_containing(&registry, since, "/blobs/"), Vec::<String>::new());
    let since = registry.seen().len();
    assert_eq!(place.json(&["scan", "--no-cache", &name]), first);
    assert_eq!(requests_containing(&registry, since, "/blobs/").len(), 3, "asked again");
}

#[test]
fn shared_layers_are_downloaded_once_per_run() {
    let place = place();
    for arguments in [&["--no-cache", "-j", "8"][..], &["-j", "1"], &["--no-cache", "-j", "1"]] {
        let registry = registry(&place);
        let [a, b] = ["a", "b"].map(|tag| format!("{}/team/app:{tag}", registry.host()));
        let report = place.json(&[&["scan", &a, &b], arguments].concat());
        assert_eq!(names(&report), [a, b], "{report:#}");
        let mut blobs = requests_containing(&registry, 0, "/blobs/");
        let all = blobs.len();
        blobs.sort();
        blobs.dedup();
        assert_eq!((all, blobs.len()), (5, 5), "{arguments:?}: two configs, three layers");
        place.run(&["cache", "clear"]);
    }
}

#[test]
fn cache_info_lists_contents_and_clear_removes_them() {
    let place = place();
    let empty = out(&place.run(&["cache", "info"]));
    assert!(empty.starts_with("layers: 0 files, 0 bytes, in "), "{empty}");
    assert_eq!(code(&place.run(&["scan", "oci:images:a", "oci:images:b"])), 1);
    let folder = place.path(".git/cache/imagelint/layers");
    let full = out(&place.run(&["cache", "info"]));
    assert!(full.starts_with("layers: 3 files, ") && full.contains(folder.to_str().expect("a path")), "{full}");
    let cleared = place.run(&["cache", "clear"]);
    assert!(code(&cleared) == 0 && out(&cleared).starts_with("layers: removed 3 files, "), "{}", out(&cleared));
    assert_eq!(out(&place.run(&["cache", "info"])), empty);
    assert_eq!(code(&place.run(&["cache"])), 2);
    assert_eq!(code(&place.run(&["cache", "forget"])), 2);
    let nowhere =
        place.command(&["cache", "info"]).env("XDG_CACHE_HOME", "").env_remove("HOME").output().expect("a run");
    assert_eq!(code(&nowhere), 2, "{}", out(&nowhere));
}

#[test]
fn a_broken_or_unwritable_cache_changes_no_verdict() {
    let place = place();
    let sound = place.json(&["scan", "oci:images:a"]);
    let mut folders = vec![place.path(".git/cache/imagelint/layers")];
    let mut broken = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                fs::write(path, "broken").expect("written");
                broken += 1;
            }
        }
    }
    assert_eq!(broken, 2);
    assert_eq!(place.json(&["scan", "oci:images:a"]), sound);
    place.file("blocked", "a file");
    let blocked = place.path("blocked");
    let done = place.command(&["scan", "oci:images:a"]).env("XDG_CACHE_HOME", blocked).output().expect("a run");
    assert_eq!(code(&done), 1, "{}", err(&done));
    assert!(err(&done).starts_with("note: cannot write to ") && err(&done).lines().count() == 1, "{}", err(&done));
    assert_eq!(out(&done), out(&place.run(&["scan", "oci:images:a"])));
}

#[test]
fn image_names_are_read_once_in_the_order_of_arguments_and_lists() {
    let place = place();
    place.file("list", "# ours\noci:images:c\n\noci:images:none\noci:images:a # again\n");
    let done = place.run(&["scan", "--format", "json", "oci:images:b", "oci:images:a", "--from-file", "list"]);
    assert_eq!(code(&done), 2);
    let report: Value = serde_json::from_slice(&done.stdout).expect("json");
    assert_eq!(names(&report), ["oci:images:b", "oci:images:a", "oci:images:c"]);
    let errors = report["errors"].as_array().expect("errors");
    assert_eq!((errors.len(), &errors[0]["input"]), (1, &"oci:images:none".into()));
    // What fails is shown where the list names it, with the image; what no list names at the pool.
    let lines = out(&place.run(&["scan", "--format", "concise", "oci:images:a", "--from-file", "list"]));
    let shown = |start: &str| lines.lines().any(|line| line.starts_with(start));
    assert!(shown("list:2:1: error container-refused: oci:images:c (linux/amd64): "), "{lines}");
    assert!(shown("fleet.toml:") && !lines.contains("list:5:"), "{lines}");
    let report = out(&place.run(&["scan", "--format", "json", "--from-file", "list"]));
    place.file("report.json", &report);
    let again = out(&place.run(&["check", "--format", "concise", "report.json"]));
    assert!(
        again.contains("list:2:1: error container-refused: oci:images:c (linux/amd64): "),
        "its line is kept: {again}"
    );
    let told = out(&place.run(&["scan", "--from-file", "list"]));
    let shown =
        |named: &str, line: &str| told.contains(&format!(" --> {named} (linux/amd64)\n --> {line}  names {named}\n"));
    assert!(shown("oci:images:c", "list:2:1") && shown("oci:images:a", "list:5:1"), "{told}");
    // What a finding is known by has nothing to do with its line in the list, nor with there being a list.
    let prints = |arguments: &[&str]| {
        let text = out(&place.run(&[&["scan", "--format", "gitlab"], arguments].concat()));
        let issues: Vec<Value> = serde_json::from_str(&text).expect("JSON");
        issues.iter().map(|issue| issue["fingerprint"].to_string()).collect::<BTreeSet<String>>()
    };
    place.file("one", "oci:images:c\noci:images:a\n");
    place.file("other", "# turned\n\noci:images:a\noci:images:c\n");
    let expected = prints(&["oci:images:a", "oci:images:c"]);
    assert!(expected.len() > 1);
    assert_eq!((prints(&["--from-file", "one"]), prints(&["--from-file", "other"])), (expected.clone(), expected));
    let mut command = place.command(&["scan", "--format", "json", "--from-file", "-"]);
    let done = command.write_stdin("oci:images:c\noci:images:b").output().expect("a run");
    let report: Value = serde_json::from_slice(&done.stdout).expect("json");
    assert_eq!(names(&report), ["oci:images:c", "oci:images:b"]);
    for (arguments, told) in [
        (&["scan"][..], "required"),
        (&["scan", "--from-file", "absent"], "cannot read absent"),
        (
            &["scan", "--from-file", "-", "--username", "x", "--password-stdin"],
            "cannot both be read from standard input",
        ),
    ] {
        let done = place.run(arguments);
        assert!(code(&done) == 2 && err(&done).contains(told), "{arguments:?}: {}", err(&done));
    }
    place.file("list", "# none\n");
    assert_eq!(code(&place.run(&["scan", "--from-file", "list"])), 3, "nothing to check");
}

#[test]
fn a_repository_is_judged_tag_by_tag() {
    let place = place();
    let registry = registry(&place);
    let repository = format!("{}/team/app", registry.host());
    let tagged = |tags: &[&str]| tags.iter().map(|tag| format!("{repository}:{tag}")).collect::<Vec<_>>();
    let report = place.json(&["scan", "--all-tags", &repository]);
    assert_eq!(names(&report), tagged(&["a", "b", "c"]), "of both pages, without the signature");
    assert_eq!(report["errors"], json!([]));
    assert_eq!(names(&place.json(&["scan", &repository, "--tags", "[ab]"])), tagged(&["a", "b"]));
    assert_eq!(names(&place.json(&["scan", &repository, "--tags", "c", "--tags", "a*"])), tagged(&["a", "c"]));
    let tag = format!("{repository}:a");
    let elsewhere = format!("{}/other", registry.host());
    for (arguments, told) in [
        (["scan", "--tags", "x*", &repository], "has no tag that matches --tags"),
        (["scan", "--tags", "*", &tag], "already names one image"),
        (["scan", "--tags", "*", "oci:images"], "is not a repository in a registry"),
        (["scan", "--tags", "*", &elsewhere], "/other: requested the tags from"),
        (["scan", "--tags", "[", &repository], "--tags ["),
    ] {
        let done = place.run(&arguments);
        let text = format!("{}{}", out(&done), err(&done));
        assert!(code(&done) == 2 && text.contains(told), "{arguments:?}: {text}");
    }
    let both = place.run(&["scan", "--format", "json", "--tags", "a", &elsewhere, &repository]);
    let report: Value = serde_json::from_slice(&both.stdout).expect("json");
    assert_eq!((code(&both), names(&report)), (2, tagged(&["a"])), "one does not hide the other");
}

#[test]
fn a_helm_chart_among_the_tags_is_skipped_and_reported() {
    let place = place();
    let registry = registry(&place);
    let (mixed, charts) = (format!("{}/team/mixed", registry.host()), format!("{}/team/charts", registry.host()));
    let left = |repository: &str| format!("note: {repository}:chart is skipped: ");
    for format in ["json", "ndjson"] {
        let done = place.run(&["scan", "--format", format, "--all-tags", &mixed]);
        assert!(code(&done) < 2 && err(&done).contains(&left(&mixed)), "{}", err(&done));
        assert!(
            err(&done).contains("an artifact of type `application/vnd.cncf.helm.config.v1+json`"),
            "{}",
            err(&done)
        );
        assert!(!out(&done).contains("chart") && out(&done).contains("mixed:a"), "{}", out(&done));
    }
    let done = place.run(&["scan", "--tags", "*", &charts]);
    assert!(code(&done) == 3 && err(&done).contains(&left(&charts)), "nothing to check: {}", err(&done));
    let named = place.run(&["scan", "--format", "concise", &format!("{mixed}:chart")]);
    let text = format!("{}{}", out(&named), err(&named));
    assert!(code(&named) == 2 && text.contains("not a container image but an artifact") && !text.contains("skipped"));
}

#[test]
fn ndjson_has_one_line_per_subject_and_a_summary() {
    let place = place();
    let all = ["oci:images:a", "oci:images:none", "oci:images:b", "oci:images:c"];
    let done = place.run(&[&["scan", "--format", "ndjson"][..], &all].concat());
    assert_eq!(code(&done), 2, "{}", err(&done));
    let text = out(&done);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("json")).collect();
    let (summary, others) = lines.split_last().expect("lines");
    let mut told: Vec<(String, String)> = others
        .iter()
        .map(|line| {
            let name = if line["type"] == "error" { &line["input"] } else { &line["name"] };
            (name.as_str().expect("a name").to_owned(), line["type"].as_str().expect("a type").to_owned())
        })
        .collect();
    told.sort();
    let expected = [(all[0], "subject"), (all[2], "subject"), (all[3], "subject"), (all[1], "error")];
    assert_eq!(told, expected.map(|(name, kind)| (name.to_owned(), kind.to_owned())));
    assert_eq!((&summary["type"], &summary["subjects"], &summary["errors"]), (&json!("summary"), &json!(3), &json!(1)));
    let fates: u64 = summary["fates"].as_object().expect("fates").values().filter_map(Value::as_u64).sum();
    assert_eq!((fates, summary["fleet"]["pools"].as_array().map(Vec::len)), (6, Some(2)), "three on two pools");
    // A line says what the report says.
    let report = place.json(&["scan", "oci:images:a"]);
    let mut own = others.iter().find(|line| line["name"] == all[0]).expect("a").clone();
    own.as_object_mut().expect("an object").remove("type");
    assert_eq!(own, report["subjects"][0]);
    assert_eq!(code(&place.run(&["scan", "--format", "ndjson", "oci:images:a"])), 1);
    assert_eq!(code(&place.run(&["scan", "--format", "ndjson", "--fail-on", "never", "oci:images:a"])), 0);
    place.file("Dockerfile", test_repository::DOCKERFILE);
    let checked = out(&place.run(&["check", "--format", "ndjson", "Dockerfile"]));
    let kinds = checked.lines().map(|line| serde_json::from_str::<Value>(line).expect("json")["type"].clone());
    assert_eq!(kinds.collect::<Vec<_>>(), ["subject", "summary"]);
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let place = place();
    let program = place.command(&[]).get_program().to_owned();
    for format in ["ndjson", "json", "human"] {
        let mut child = std::process::Command::new(&program)
            .args(["scan", "--fleet", "fleet.toml", "--format", format, "oci:images:a", "oci:images:b"])
            .current_dir(place.path(""))
            .env("XDG_CACHE_HOME", place.path(".git/cache"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a run");
        drop(child.stdout.take());
        let done = child.wait_with_output().expect("an end");
        // What was found counts, whoever reads it.
        assert_eq!((code(&done), err(&done)), (1, String::new()), "{format}");
    }
}

#[test]
fn progress_is_shown_only_on_terminals_or_by_flag() {
    let place = place();
    let quiet = place.run(&["scan", "oci:images:a"]);
    assert_eq!(err(&quiet), "");
    assert_eq!(err(&place.run(&["scan", "--progress", "none", "oci:images:a"])), "");
    for how in ["plain", "bar"] {
        let told = place.run(&["scan", "--no-cache", "--progress", how, "oci:images:a", "oci:images:b"]);
        let text = err(&told);
        assert!(text.starts_with("progress: 2 of 2 images, 6.1 kB read, "), "{text}");
        assert!(!text.contains('\u{1b}'), "no bars into a file: {text}");
    }
    assert_eq!(code(&place.run(&["scan", "--progress", "loud", "oci:images:a"])), 2);
}

/// Pools with labels.
const LABELLED: &str = r#"[[pool]]
name = "old"
gpu = "A100"
driver = "470.182.03"
platform = "linux/amd64"
launch = "kubernetes"
toolkit = "1.14.3"
labels = { tier = "old" }

[[pool]]
name = "new"
gpu = "H100"
driver = "570.211.01"
platform = "linux/amd64"
launch = "kubernetes"
toolkit = "1.17.8"
labels = { tier = "new", "example.com/zone" = "a" }
"#;

/// A pod that asks for a GPU.
fn pod(name: &str, image: &str, selector: &Value, env: &Value) -> Value {
    let resources = json!({"limits": {"nvidia.com/gpu": 1}});
    let container = json!({"name": "main", "image": image, "resources": resources, "env": env});
    let spec = json!({"nodeSelector": selector, "containers": [container, {"name": "side", "image": "busybox"}]});
    json!({"kind": "Pod", "metadata": {"name": name, "namespace": "ml"}, "spec": spec})
}

/// Pool, fate and outcome of the image of a workload.
fn fates(report: &Value, workload: &str) -> Vec<String> {
    let subjects = report["subjects"].as_array().expect("subjects");
    let of = |subject: &&Value| subject["name"].as_str().is_some_and(|name| name.ends_with(&format!("({workload})")));
    let subject = subjects.iter().find(of).unwrap_or_else(|| panic!("{workload}: {report:#}"));
    let verdicts = subject["verdicts"].as_array().expect("verdicts").iter();
    let of_image = verdicts.filter(|verdict| verdict["component"].is_null());
    let words = ["pool", "fate", "outcome"];
    of_image.map(|verdict| words.map(|word| verdict[word].as_str().unwrap_or("-")).join(" ")).collect()
}

/// The pods that no pool has nodes for.
fn unplaced(report: &Value) -> Vec<&str> {
    let subjects = report["subjects"].as_array().expect("subjects").iter();
    let told = subjects.filter(|subject| subject["inspected"]["notes"].to_string().contains("not checked: no pool"));
    told.map(|subject| {
        assert_eq!(subject["verdicts"], json!([]));
        let name = subject["name"].as_str().and_then(|name| name.split_once("ml/Pod/")).expect("a pod").1;
        name.split(':').next().unwrap_or(name)
    })
    .collect()
}

#[test]
fn a_running_cluster_is_checked() {
    let place = place();
    place.file("fleet.toml", LABELLED);
    let registry = registry(&place);
    let image = format!("{}/team/app:a", registry.host());
    let off = json!([{"name": "NVIDIA_DISABLE_REQUIRE", "value": "true"}]);
    let secret = json!([{"name": "NVIDIA_REQUIRE_CUDA", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}}]);
    let items = json!([
        pod("anywhere", &image, &json!({"kubernetes.io/os": "linux"}), &json!([])),
        pod("modern", &image, &json!({"tier": "new"}), &json!([])),
        pod("unchecked", &image, &json!({"tier": "old"}), &off),
        pod("elsewhere", &image, &json!({"tier": "old"}), &secret),
        pod("nowhere", &image, &json!({"tier": "none"}), &json!([])),
        pod("missing", &format!("{}/team/app:x", registry.host()), &json!({}), &json!([])),
    ]);
    place.file("pods.json", &json!({"kind": "List", "items": items}).to_string());
    let done = place.run(&["scan", "--format", "json", "--from-kubernetes", "pods.json"]);
    let report: Value = serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{error}: {}", err(&done)));
    assert_eq!(fates(&report, "ml/Pod/anywhere: main")[0], "old fails refused", "a label that no pool declares");
    assert_eq!(fates(&report, "ml/Pod/anywhere: main").len(), 2);
    let modern = fates(&report, "ml/Pod/modern: main");
    assert!(modern.len() == 1 && modern[0].starts_with("new ") && !modern[0].contains("fails"), "{modern:?}");
    let unchecked = fates(&report, "ml/Pod/unchecked: main");
    assert!(unchecked.len() == 1 && !unchecked[0].contains("refused"), "{unchecked:?}");
    assert_eq!(fates(&report, "ml/Pod/elsewhere: main"), ["old undetermined -"]);
    let errors: Vec<String> = report["errors"].as_array().expect("errors").iter().map(Value::to_string).collect();
    assert_eq!((errors.len(), code(&done)), (1, 2), "{errors:?}");
    assert!(fates(&report, "ml/Pod/nowhere: main").is_empty());
    assert_eq!(unplaced(&report), ["nowhere"]);
    let told = |words: &str| errors.iter().any(|error| error.contains("team/app:x") && error.contains(words));
    assert!(told("run by ml/Pod/missing: main") && told("\"pods.json\""), "{errors:?}");
    assert_eq!(requests_containing(&registry, 0, "/manifests/a").len(), 1, "one image, however many workloads");
    // A saved report keeps what each asks of its nodes, and asks a changed fleet again.
    place.file("saved.json", &out(&done));
    let again = place.json(&["check", "saved.json"]);
    for workload in ["ml/Pod/anywhere: main", "ml/Pod/modern: main", "ml/Pod/unchecked: main"] {
        assert_eq!(fates(&again, workload), fates(&report, workload));
    }
    place.file("fleet.toml", &LABELLED.replace("tier = \"new\"", "tier = \"newest\""));
    let moved = place.json(&["check", "saved.json"]);
    assert_eq!(fates(&moved, "ml/Pod/anywhere: main"), fates(&report, "ml/Pod/anywhere: main"));
    assert!(!moved["errors"].to_string().contains("ml/Pod/modern"), "{moved:#}");
    assert_eq!(unplaced(&moved), ["modern", "nowhere"]);
    // Notes about another fleet are not repeated.
    place.file("fleet.toml", &LABELLED.replace("tier = \"new\"", "tier = \"none\""));
    assert_eq!(unplaced(&place.json(&["check", "saved.json"])), ["modern"]);
    place.file("fleet.toml", LABELLED);
    let one = json!({"kind": "List", "items": [pod("nowhere", &image, &json!({"tier": "none"}), &json!([]))]});
    place.file("one.json", &one.to_string());
    for format in ["human", "json", "ndjson"] {
        let done = place.run(&["scan", "--format", format, "--from-kubernetes", "one.json"]);
        assert_eq!(code(&done), 3, "{format}: {}", err(&done));
        // A human's lines wrap.
        let shown = out(&done).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains("not checked: no pool of the fleet has the nodes"), "{format}: {}", out(&done));
    }
    place.file("fleet.toml", LABELLED);
    let shown = out(&place.run(&["scan", "--format", "concise", "--from-kubernetes", "pods.json"]));
    let at = fs::read_to_string(place.path("pods.json")).expect("a file").find(&image).expect("the image") + 1;
    let start = format!("pods.json:1:{at}: error container-refused: {image} (ml/Pod/anywhere: main) (linux/amd64): ");
    assert!(shown.lines().any(|line| line.starts_with(&start)), "{start}\n{shown}");
    // The same image again, where the fourth pod names it.
    let text = fs::read_to_string(place.path("pods.json")).expect("a file");
    let (at, _) = text.match_indices(&image).nth(3).expect("four of them");
    let start = format!("pods.json:1:{}: warning undetermined: {image} (ml/Pod/elsewhere: main)", at + 1);
    assert!(shown.lines().any(|line| line.starts_with(&start)), "{start}\n{shown}");
    let lines = out(&place.run(&["scan", "--format", "ndjson", "--from-kubernetes", "pods.json"]));
    assert_eq!(lines.lines().count(), 5 + 1 + 1, "{lines}");
}

/// A variable of a container stands above that of the pool, as the kubelet has it.
#[test]
fn pod_variable_overrides_pool_variable() {
    let place = place();
    let pool =
        "name = \"p\"\ndriver = \"470.57.02\"\nlaunch = \"nvidia-runtime\"\nenv = { NVIDIA_DISABLE_REQUIRE = \"1\" }\n";
    place.file("fleet.toml", &format!("[[pool]]\ngpu = \"A100\"\ntoolkit = \"1.17.8\"\n{pool}"));
    let registry = registry(&place);
    let image = format!("{}/team/app:a", registry.host());
    let variable = |value: &str| json!([{"name": "NVIDIA_DISABLE_REQUIRE", "value": value}]);
    let items = json!([
        pod("own", &image, &json!({}), &variable("0")),
        pod("same", &image, &json!({}), &variable("1")),
        pod("none", &image, &json!({}), &json!([])),
        pod("other", &image, &json!({}), &json!([{"name": "NVIDIA_DISABLE", "value": "0"}])),
        pod(
            "elsewhere",
            &image,
            &json!({}),
            &json!([{"name": "NVIDIA_DISABLE_REQUIRE", "valueFrom": {"fieldRef": {}}}])
        ),
    ]);
    place.file("pods.json", &json!({"kind": "List", "items": items}).to_string());
    let report = place.json(&["scan", "--from-kubernetes", "pods.json"]);
    place.file("saved.json", &report.to_string());
    let again = place.json(&["check", "saved.json"]);
    for report in [report, again] {
        let fate = |name: &str| fates(&report, &format!("ml/Pod/{name}: main")).join(", ");
        assert_eq!(fate("own"), "p fails refused");
        assert_eq!(fate("elsewhere"), "p undetermined -");
        for name in ["same", "none", "other"] {
            assert!(!fate(name).contains("refused") && !fate(name).contains("undetermined"), "{name}: {}", fate(name));
        }
    }
}

#[test]
fn running_image_is_read_from_the_pod_status() {
    let place = place();
    place.file("fleet.toml", LABELLED);
    let registry = registry(&place);
    let tag = format!("{}/team/app:a", registry.host());
    let other = place.json(&["scan", "--fail-on", "never", &format!("{}/team/app:c", registry.host())]);
    let digest = other["subjects"][0]["digest"].as_str().expect("a digest");
    let running = format!("{}/team/app@{digest}", registry.host());
    let with = |name: &str, status: Value| {
        let mut pod = pod(name, &tag, &json!({}), &json!([]));
        pod["status"] = status;
        pod
    };
    let told =
        |id: &str| json!({"phase": "Running", "containerStatuses": [{"name": "main", "image": tag, "imageID": id}]});
    let items = json!([
        with("moved", told(&running)),
        with("plain", json!({"phase": "Pending"})),
        with("done", json!({"phase": "Succeeded"})),
        with("broken", json!({"phase": "Failed"})),
    ]);
    place.file("pods.json", &json!({"kind": "List", "items": items}).to_string());
    let done = place.run(&["scan", "--format", "json", "--from-kubernetes", "pods.json"]);
    let report: Value = serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{error}: {}", err(&done)));
    assert_eq!(err(&done), "note: pods.json contains 2 pods that ended, which are skipped\n");
    let subjects = report["subjects"].as_array().expect("subjects");
    assert_eq!(subjects.len(), 2, "{report:#}");
    let of = |name: &str| {
        let named = |subject: &&Value| subject["name"].as_str().is_some_and(|own| own.contains(name));
        subjects.iter().find(named).unwrap_or_else(|| panic!("{name}: {report:#}"))
    };
    let (moved, plain) = (of("ml/Pod/moved"), of("ml/Pod/plain"));
    assert_eq!(moved["name"], format!("{running} (ml/Pod/moved: main)"));
    assert_eq!(moved["digest"], digest);
    let notes = moved["inspected"]["notes"].to_string();
    assert!(notes.contains(&format!("{tag} runs as {running}")), "{notes}");
    assert_eq!(plain["name"], format!("{tag} (ml/Pod/plain: main)"));
    assert!(!plain["inspected"]["notes"].to_string().contains("runs as"), "{plain:#}");
}

/// Affinity to nodes of which one label meets something.
fn affinity(key: &str, operator: &str, values: &[&str]) -> Value {
    let terms = json!([{"matchExpressions": [{"key": key, "operator": operator, "values": values}]}]);
    let required = json!({"nodeSelectorTerms": terms});
    json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}})
}

#[test]
fn gpu_and_driver_labels_select_pools_by_declared_values() {
    let place = place();
    place.file("fleet.toml", LABELLED);
    let registry = registry(&place);
    let image = format!("{}/team/app:c", registry.host());
    let on = |name: &str, affinity: Value| {
        let mut pod = pod(name, &image, &json!({}), &json!([]));
        pod["spec"]["affinity"] = affinity;
        pod
    };
    let product = "nvidia.com/gpu.product";
    let items = json!([
        pod("hopper", &image, &json!({product: "NVIDIA-H100-80GB-HBM3"}), &json!([])),
        pod("ampere", &image, &json!({product: "A100-SXM4-40GB", "tier": "old"}), &json!([])),
        pod("neither", &image, &json!({product: "NVIDIA-L40S"}), &json!([])),
        on("newer", affinity("nvidia.com/cuda.driver.major", "Gt", &["550"])),
        on("exact", affinity("nvidia.com/cuda.driver-version.full", "In", &["470.182.03", "999.1"])),
        on("family", affinity("nvidia.com/gpu.family", "NotIn", &["hopper"])),
        on("open", affinity("nvidia.com/gpu.memory", "Gt", &["60000"])),
        on("arm", affinity("kubernetes.io/arch", "In", &["arm64"])),
    ]);
    place.file("pods.json", &json!({"kind": "List", "items": items}).to_string());
    let done = place.run(&["scan", "--format", "json", "--from-kubernetes", "pods.json"]);
    let report: Value = serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{error}: {}", err(&done)));
    let pools = |name: &str| -> Vec<String> {
        let of = fates(&report, &format!("ml/Pod/{name}: main"));
        of.iter().filter_map(|fate| fate.split(' ').next().map(str::to_owned)).collect()
    };
    for (name, expected) in [
        ("hopper", &["new"][..]),
        ("ampere", &["old"]),
        ("newer", &["new"]),
        ("exact", &["old"]),
        ("family", &["old"]),
        ("open", &["old", "new"]),
    ] {
        assert_eq!(pools(name), expected, "{name}");
    }
    assert_eq!(unplaced(&report), ["arm", "neither"]);
    assert_eq!(report["errors"], json!([]));
}

#[test]
fn compose_image_variables_are_read_from_the_adjacent_env_file() {
    let place = place();
    place.file("fleet.toml", LABELLED);
    let registry = registry(&place);
    let text = format!(
        "services:\n  a: {{image: '${{REG:-{}}}/team/app:${{TAG:-x}}', gpus: all}}\n  b: {{image: 'app:$NONE', gpus: all}}\n",
        registry.host()
    );
    place.file("app/compose.yaml", &text);
    place.file("app/.env", "TAG=a\n");
    place.file(".env", "NONE=1\n");
    let scan = |file: &str| place.json(&["scan", "--fail-on", "never", "--from-kubernetes", file]);
    let report = scan("app/compose.yaml");
    assert_eq!(fates(&report, "service a").len(), 2, "{report}");
    assert_eq!(report["subjects"][0]["name"], format!("{}/team/app:a (service a)", registry.host()));
    // What another folder says counts for nothing.
    let errors = report["errors"].as_array().expect("errors");
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors[0]["message"]
            .as_str()
            .is_some_and(|told| told.starts_with("service b: its image depends on a variable without a value"))
    );
    let line = "app/compose.yaml:2:15: ";
    let concise = out(&place.run(&["scan", "--format", "concise", "--from-kubernetes", "app/compose.yaml"]));
    assert!(concise.lines().any(|told| told.starts_with(line)), "{concise}");
}

#[test]
fn kubernetes_file_without_gpu_workloads_is_reported() {
    let place = place();
    place.file("fleet.toml", LABELLED);
    place.file("pod.yaml", "kind: Pod\nspec: {containers: [{name: a, image: 'busybox'}]}\n");
    assert_eq!(code(&place.run(&["scan", "--from-kubernetes", "pod.yaml"])), 3);
    for (file, told) in [
        ("pod.yaml", "note: no container of pod.yaml requests a GPU: it contains 1 container without GPUs\n"),
        ("empty.json", "note: no container of empty.json requests a GPU: it contains no container\n"),
    ] {
        place.file("empty.json", "{\"items\": []}");
        let done = place.run(&["scan", "--from-kubernetes", file]);
        assert_eq!((code(&done), err(&done)), (3, told.to_owned()));
    }
    place.file("none.yaml", "kind: ConfigMap\n");
    place.file("broken.json", "{");
    for (arguments, told) in [
        (&["none.yaml"][..], "no pod, workload or service"),
        (&["broken.json"], "cannot read broken.json"),
        (&["absent"], "cannot read absent"),
        (&["pod.yaml", "--all-tags"], "cannot be used with"),
    ] {
        let done = place.run(&[&["scan", "--from-kubernetes"], arguments].concat());
        assert!(code(&done) == 2 && err(&done).contains(told), "{arguments:?}: {}", err(&done));
    }
    place.file("fleet.toml", &LABELLED.replace("labels = { tier = \"old\" }", "labels = [\"tier\"]"));
    assert_eq!(code(&place.run(&["scan", "--from-kubernetes", "pod.yaml"])), 2, "labels are a table");
}

#[test]
fn an_interrupted_run_ends_at_once_and_leaves_nothing_half_done() {
    let place = place();
    let folder = place.path("images/blobs/sha256");
    let files = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|one| one.file_name());
    let slow = registry_with(&place, move |path, bytes| {
        let json = fs::read(folder.join(path)).is_ok_and(|bytes| bytes.first() == Some(&b'{'));
        if json { None } else { Some(Reply::Drip(bytes)) }
    });
    let name = format!("{}/team/app:a", slow.host());
    for progress in ["plain", "none"] {
        let since = slow.seen().len();
        let mut command = std::process::Command::new(place.command(&[]).get_program());
        command.current_dir(place.path(".")).env("XDG_CACHE_HOME", place.path(".git/slow"));
        let mut child = command
            .args(["scan", "--progress", progress, &name])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program");
        // The configuration and a layer that never ends.
        while requests_containing(&slow, since, "/blobs/").len() < 2 {
            assert_eq!(child.try_wait().expect("its state"), None);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let begun = std::time::Instant::now();
        let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
        assert!(sent.success());
        let done = child.wait_with_output().expect("its end");
        assert!(begun.elapsed() < std::time::Duration::from_secs(2), "{:?}", begun.elapsed());
        assert_eq!(done.status.code(), Some(130), "{}", err(&done));
        assert_eq!(out(&done), "");
        assert!(!err(&done).contains("panicked"), "{}", err(&done));
        let left: Vec<_> = files(&place.path(".git/slow/imagelint/layers")).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(".new")), "{left:?}");
    }
    // What it left does not stand in the way of the next run.
    let healthy = registry(&place);
    let name = format!("{}/team/app:a", healthy.host());
    let done =
        place.command(&["scan", "--format", "json", &name]).env("XDG_CACHE_HOME", place.path(".git/slow")).output();
    let report: Value = serde_json::from_slice(&done.expect("a run").stdout).expect("json");
    assert_eq!((names(&report), &report["errors"]), (vec![name], &json!([])));
}
