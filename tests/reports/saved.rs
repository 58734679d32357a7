//! A saved report loses nothing: its output is that of the original report, word for word.

use std::collections::BTreeSet;
use std::{fs, thread};

use serde_json::{Value, json};
use test_repository::{TestRepository, code, err, out};

use crate::support::{inputs, oci_layout, test_repository};

/// A pool of another platform, and one for only some Dockerfiles, in addition to those of every input.
const POOLS: &str = r#"[[pool]]
name = "grace"
gpu = "GH200"
driver = "570.211.01"
platform = "linux/arm64"
launch = "docker-gpus"
toolkit = "1.17.8"

[[pool]]
name = "few"
gpu = "L4"
driver = "535"
dockerfiles = ["only/**"]
images = ["none/**"]
"#;

/// A report without what may differ: the kind of its subjects; texts go by their paths, not by numbers.
fn compared(mut report: Value) -> Value {
    let texts = report["texts"].as_array().cloned().unwrap_or_default();
    let paths = texts.iter().map(|text| (text["id"].clone(), text["path"].clone())).collect::<Vec<_>>();
    for text in report["texts"].as_array_mut().into_iter().flatten() {
        text.as_object_mut().expect("a text").remove("id");
    }
    for subject in report["subjects"].as_array_mut().expect("subjects") {
        subject.as_object_mut().expect("a subject").remove("kind");
        named(&mut subject["observed"], &paths);
    }
    report
}

/// Puts paths where numbers of texts stand.
fn named(value: &mut Value, paths: &[(Value, Value)]) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let path = if key == "text" { paths.iter().find(|(id, _)| id == value) } else { None };
                match path {
                    Some((_, path)) => *value = path.clone(),
                    None => named(value, paths),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| named(value, paths)),
        _ => {}
    }
}

/// The paths where two values differ, the first few of them.
fn differences(path: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
                differences(&format!("{path}.{key}"), &of(a), &of(b), found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (at, (one, other)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}[{at}]"), one, other, found);
            }
        }
        _ if one != other && found.len() < 5 => found.push(format!("{path}: {one} / {other}")),
        _ => {}
    }
}

/// Judges, saves, judges the report, and says where the two differ.
fn lost(repository: &TestRepository, arguments: &[&str]) -> Vec<String> {
    lost_in(repository, arguments, "saved.json")
}

/// Returns what a report loses that is saved in a file.
fn lost_in(repository: &TestRepository, arguments: &[&str], file: &str) -> Vec<String> {
    let first = repository.json(arguments);
    repository.file(file, &first.to_string());
    let again = repository.json(&["check", "--fleet", "fleet.toml", file]);
    let mut found = Vec::new();
    differences("", &compared(first), &compared(again), &mut found);
    found
}

#[test]
fn every_repository_input_has_the_same_output_from_a_saved_report() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", &inputs::fleet_with(POOLS));
    let named = inputs::all(&repository);
    assert!(named.len() > 200, "{}", named.len());
    let chunks: Vec<(usize, &[String])> = named.chunks(40).enumerate().collect();
    let wrong_of = |(number, some): &(usize, &[String])| {
        let mut arguments = vec!["check", "--fleet", "fleet.toml"];
        arguments.extend(some.iter().map(String::as_str));
        lost_in(&repository, &arguments, &format!("saved-{number}.json"))
    };
    let halves = chunks.split_at(chunks.len() / 2);
    let wrong = thread::scope(|scope| {
        let first = scope.spawn(|| halves.0.iter().flat_map(wrong_of).collect::<Vec<String>>());
        let mut wrong: Vec<String> = halves.1.iter().flat_map(wrong_of).collect();
        wrong.extend(first.join().expect("no panic"));
        wrong
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn saved_report_keeps_all_inputs_of_a_verdict() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", &inputs::fleet_with(POOLS));
    repository.file("requirements.txt", "torch==2.4.0\n--extra-index-url https://download.pytorch.org/whl/cu118\n");
    repository.file("broken.image.toml", "base = 3\n");
    repository.file("only/Dockerfile", "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n");
    for (what, text) in [
        (
            "a variable without value",
            "FROM python:3.11\nRUN pip install torch==2.4.0\nARG X\nENV NVIDIA_VISIBLE_DEVICES=$X\n",
        ),
        (
            "a value that builds on the base",
            "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nENV LD_LIBRARY_PATH=/opt/x:$LD_LIBRARY_PATH\n",
        ),
        (
            "an index without a version",
            "FROM python:3.11\nRUN pip install torch --index-url https://download.pytorch.org/whl/cu118\n",
        ),
        (
            "a base by platform",
            "ARG TARGETARCH\nFROM nvidia/cuda:12.4.1-base-ubuntu22.04 AS amd64\nFROM python:3.11 AS arm64\nFROM ${TARGETARCH}\n",
        ),
        ("a file beside it", "FROM python:3.11\nCOPY requirements.txt /r.txt\nRUN pip install -r /r.txt\n"),
        (
            "comments",
            "FROM nvidia/cuda:11.2.2-base-ubuntu20.04\n# imagelint: ignore[refused@rtx] soon\nENV A=1\n# imagelint: ignore[nosuch]\nENV B=2\n",
        ),
        ("a line that nobody can read", "FROM nvidia/cuda:11.2.2-base-ubuntu20.04\nFOO é\nENV A=1\n"),
        ("no stage", "# nothing\n"),
    ] {
        repository.file("Dockerfile", text);
        for arguments in [
            &["check", "--fleet", "fleet.toml", "Dockerfile", "only/Dockerfile"][..],
            &["check", "--fleet", "fleet.toml", "--as-of", "2021-06-29", "Dockerfile", "broken.image.toml"],
            &["check", "--fleet", "fleet.toml", "--platform", "linux/arm64", "--all-targets", "Dockerfile"],
        ] {
            assert_eq!(lost(&repository, arguments), Vec::<String>::new(), "{what}: {arguments:?}");
        }
    }
}

#[test]
fn image_index_of_two_platforms_round_trips() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", &inputs::fleet_with(POOLS));
    let folder = repository.path("images");
    let image = |architecture: &str| {
        let mut config = oci_layout::config(architecture);
        config["config"]["Env"] = json!(["NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_REQUIRE_CUDA=cuda>=12.4"]);
        let config =
            oci_layout::blob(&folder, "application/vnd.oci.image.config.v1+json", config.to_string().as_bytes());
        let media_type = "application/vnd.oci.image.manifest.v1+json";
        let manifest = json!({"schemaVersion": 2, "mediaType": media_type, "config": config, "layers": []});
        let mut found = oci_layout::blob(&folder, media_type, manifest.to_string().as_bytes());
        found["platform"] = json!({"os": "linux", "architecture": architecture});
        found
    };
    let manifests = [image("amd64"), image("arm64")];
    let media_type = "application/vnd.oci.image.index.v1+json";
    let index = json!({"schemaVersion": 2, "mediaType": media_type, "manifests": manifests});
    let index = oci_layout::blob(&folder, media_type, index.to_string().as_bytes());
    oci_layout::finish(&folder, &[("many", index)]);
    assert_eq!(lost(&repository, &["scan", "--fleet", "fleet.toml", "oci:images:many"]), Vec::<String>::new());
    let again = repository.json(&["check", "--fleet", "fleet.toml", "saved.json"]);
    let verdicts = again["subjects"][0]["verdicts"].as_array().expect("verdicts");
    assert!(verdicts.iter().all(|verdict| verdict["outcome"] != "wrong-platform"), "{verdicts:?}");
    // One description is of one platform.
    for input in ["oci:images:many", "saved.json"] {
        for (platform, said) in [
            (
                "linux/amd64",
                "linux/amd64, linux/arm64 are available, and linux/amd64 is used; select another with --platform",
            ),
            (
                "linux/arm64",
                "linux/amd64, linux/arm64 are available, and linux/arm64 is used; select another with --platform",
            ),
            ("linux/s390x", "linux/s390x is not available, only linux/amd64, linux/arm64; linux/amd64 is used"),
        ] {
            let done = repository.run(&["describe", "--platform", platform, input]);
            assert_eq!(code(&done), 0, "{input} {platform}: {}", err(&done));
            assert!(err(&done).contains(said), "{input} {platform}: {}", err(&done));
        }
    }
    repository.file("Dockerfile", "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n");
    assert_eq!(err(&repository.run(&["describe", "Dockerfile"])), "");
}

#[test]
fn the_day_of_the_report_counts_unless_another_is_given() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", &inputs::fleet_with(POOLS));
    repository.file("Dockerfile", "FROM nvidia/cuda:11.2.2-cudnn8-devel-ubuntu20.04\n");
    let first = repository.json(&["check", "--as-of", "2021-06-29", "--pool", "rtx", "Dockerfile"]);
    assert_eq!(first["subjects"][0]["verdicts"][0]["outcome"], "compat-not-supported");
    repository.file("saved.json", &first.to_string());
    let again = repository.json(&["check", "--pool", "rtx", "saved.json"]);
    assert_eq!((&again["as_of"], &first["as_of"]), (&json!("2021-06-29"), &json!("2021-06-29")));
    assert_eq!(again["subjects"][0]["verdicts"], first["subjects"][0]["verdicts"]);
    let other = repository.json(&["check", "--as-of", "2026-01-01", "--pool", "rtx", "saved.json"]);
    let fresh = repository.json(&["check", "--as-of", "2026-01-01", "--pool", "rtx", "Dockerfile"]);
    assert_eq!(other["subjects"][0]["verdicts"], fresh["subjects"][0]["verdicts"]);
    assert_ne!(other["subjects"][0]["verdicts"], first["subjects"][0]["verdicts"]);
}

#[test]
fn unreadable_inputs_stay_unreadable_in_a_saved_report() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", &inputs::fleet_with(POOLS));
    repository.file("Dockerfile", "FROM python:3.11\n");
    let done = repository.run(&["check", "--format", "json", "Dockerfile", "nothere"]);
    assert_eq!(code(&done), 2);
    repository.file("saved.json", &out(&done));
    let again = repository.run(&["check", "saved.json"]);
    assert_eq!(code(&again), 2, "{}", out(&again));
    assert!(out(&again).contains("nothere"), "{}", out(&again));
}

#[test]
fn the_person_sees_the_same_lines() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", &inputs::fleet_with(POOLS));
    repository
        .file("Dockerfile", "FROM nvidia/cuda:11.2.2-cudnn8-devel-ubuntu20.04\nENV NVIDIA_REQUIRE_CUDA=cuda>=99\n");
    let first = repository.run(&["check", "Dockerfile"]);
    let report = repository.json(&["check", "Dockerfile"]);
    repository.file("saved.json", &report.to_string());
    fs::remove_file(repository.path("Dockerfile")).expect("removed");
    // The suggested commands name the input of their own run.
    let again = out(&repository.run(&["check", "saved.json"])).replace(" saved.json\n", " Dockerfile\n");
    assert_eq!(again, out(&first));
    assert!(out(&first).contains("Dockerfile:2:"), "{}", out(&first));
}

/// A report of a Dockerfile, with one thing in it changed.
fn changed(report: &Value, pointer: &str, value: &Value) -> String {
    let mut report = report.clone();
    *report.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value.clone();
    report.to_string()
}

#[test]
fn modified_report_is_refused_with_a_message_or_checked() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", &inputs::fleet_with(POOLS));
    repository.file("Dockerfile", "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nENV A=é\nRUN apt-get install -y python3-pip && pip install torch==2.4.0\n");
    let report = repository.json(&["check", "Dockerfile"]);
    let seen = "/subjects/0/observed/platforms/0/seen";
    let place_of = |end: &str| format!("{seen}/facts/0/origins/0/file/{end}");
    let outside = "a location in it is outside of the texts of the report";
    for (pointer, value, said) in [
        (place_of("end"), json!(4_000_000_000_u64), outside),
        (place_of("end"), json!(u64::MAX), outside),
        (place_of("start"), json!(9_000), outside),
        (place_of("text"), json!(77), outside),
        (place_of("start"), json!(-1), "not a report of schema version 1"),
        ("/texts/0/text".to_owned(), json!("FROM x"), outside),
        ("/texts/0/text".to_owned(), json!("é".repeat(60)), outside),
        ("/texts".to_owned(), json!([]), outside),
        (format!("{seen}/packages/0/fact"), json!(999), "it refers to a fact that is not in the report"),
        (format!("{seen}/packages/0/fact"), json!(u64::MAX), "not a report of schema version 1"),
        (format!("{seen}/facts"), json!([]), "it refers to a fact that is not in the report"),
        (format!("{seen}/facts/0/key"), json!("image.bse"), "unknown fact `image.bse`"),
        (format!("{seen}/base/image/0"), json!("UPPER//"), "not a report of schema version 1"),
        (format!("{seen}/depth"), json!("deep"), "unknown variant `deep`"),
        ("/subjects/0/observed".to_owned(), json!({"path": "", "platforms": []}), "does not contain its observations"),
        ("/subjects/0/observed/platforms".to_owned(), json!(7), "not a report of schema version 1"),
        ("/schema_version".to_owned(), json!(2), "schema version 2 is unknown"),
    ] {
        repository.file("saved.json", &changed(&report, &pointer, &value));
        let done = repository.run(&["check", "saved.json"]);
        assert_eq!(code(&done), 2, "{pointer} = {value}: {}{}", out(&done), err(&done));
        let told = out(&done).split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
        assert!(told.contains(said), "{pointer} = {value}: {told}");
    }
}

#[test]
fn modified_facts_are_reported_and_not_used() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", &inputs::fleet_with(POOLS));
    repository.file(
        "Dockerfile",
        "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install torch==2.4.0\n",
    );
    let report = repository.json(&["check", "Dockerfile"]);
    let facts = report["subjects"][0]["facts"].as_array().expect("facts");
    let at = facts.iter().position(|fact| fact["key"] == "torch.version").expect("the version of torch");
    let fact = |end: &str| format!("/subjects/0/facts/{at}/{end}");
    let verdicts = report["subjects"][0]["verdicts"].clone();
    for (pointer, value, told) in [
        (fact("value"), json!("1.4.0"), true),
        (fact("state"), json!("absent"), true),
        ("/subjects/0/facts".to_owned(), json!([]), true),
        ("/subjects/0/facts".to_owned(), json!({"odd": [1.5, -2, true]}), true),
        // Keys without the value of a fact: its origins, and its copies elsewhere.
        (fact("origins"), json!([]), false),
        ("/subjects/0/facts".to_owned(), Value::Null, false),
        ("/subjects/0/observed/facts".to_owned(), Value::Null, false),
        ("/subjects/0/verdicts".to_owned(), json!([]), false),
        ("/tool/version".to_owned(), json!("9.9.9"), false),
    ] {
        repository.file("saved.json", &changed(&report, &pointer, &value));
        let done = repository.run(&["check", "--format", "json", "saved.json"]);
        let lines = err(&done).matches("were edited and are ignored; they are computed again from `observed`").count();
        assert_eq!(lines, usize::from(told), "{pointer} = {value}: {}", err(&done));
        let again: Value = serde_json::from_slice(&done.stdout).expect("JSON");
        assert_eq!(again["subjects"][0]["verdicts"], verdicts, "{pointer} = {value}");
    }
}

#[test]
fn no_change_of_a_report_ends_in_a_panic() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", &inputs::fleet_with(POOLS));
    repository.file(
        "Dockerfile",
        "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install torch==2.4.0\n",
    );
    let report = repository.json(&["check", "--pool", "rtx", "Dockerfile"]);
    let mut pointers = Vec::new();
    walk("/subjects/0/observed", &report["subjects"][0]["observed"], &mut pointers);
    walk("/texts", &report["texts"], &mut pointers);
    let mut files = Vec::new();
    for (at, pointer) in pointers.iter().enumerate() {
        for (which, value) in [json!(null), json!(u32::MAX), json!("x"), json!([]), json!({})].iter().enumerate() {
            let name = format!("changed/{at}-{which}.json");
            repository.file(&name, &changed(&report, pointer, value));
            files.push(name);
        }
    }
    assert!(files.len() > 100, "{}", files.len());
    for some in files.chunks(100) {
        let mut arguments = vec!["check", "--pool", "rtx", "--fleet", "fleet.toml"];
        arguments.extend(some.iter().map(String::as_str));
        let done = repository.run(&arguments);
        assert!([0, 1, 2].contains(&code(&done)) && !err(&done).contains("panicked"), "{}", err(&done));
    }
}

fn walk(pointer: &str, value: &Value, found: &mut Vec<String>) {
    found.push(pointer.to_owned());
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            walk(&format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")), value, found);
        }),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(at, value)| walk(&format!("{pointer}/{at}"), value, found));
        }
        _ => {}
    }
}

/// A fact that an entry of a table tells points at that entry, not at the first of its table; and from a report as well.
#[test]
fn pool_table_entry_is_shown_at_its_own_position() {
    let repository = TestRepository::empty();
    let fleet = "[[pool]]\nname = \"p\"\ngpu = \"A100\"\ndriver = \"550.54.15\"\nlaunch = \"nvidia-runtime\"\n\
        toolkit = \"1.17.8\"\n[pool.env]\nA_FIRST = \"1\"\nNVIDIA_VISIBLE_DEVICES = \"void\"\nZ_LAST = \"1\"\n";
    repository.file("fleet.toml", fleet);
    repository.file(
        "Dockerfile",
        "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install torch==2.4.0\n",
    );
    let report = repository.json(&["check", "Dockerfile"]);
    repository.file("saved.json", &report.to_string());
    for report in [report, repository.json(&["check", "--fleet", "fleet.toml", "saved.json"])] {
        let subject = &report["subjects"][0];
        assert_eq!(subject["verdicts"][0]["outcome"], "no-gpu", "{}", subject["verdicts"][0]);
        let steps = subject["verdicts"][0]["scenarios"][0]["steps"].as_array().expect("steps");
        let devices = steps.iter().find(|step| step["step"] == "devices").expect("a step");
        assert_eq!(devices["facts"][0], "pool.env.NVIDIA_VISIBLE_DEVICES", "{devices}");
        let places = subject["findings"][0]["locations"].as_array().expect("places");
        let lines: Vec<&Value> = places
            .iter()
            .filter(|location| location["kind"] == "fleet")
            .map(|location| &location["region"]["start_line"])
            .collect();
        assert!(lines.contains(&&json!(9)) && !lines.contains(&&json!(8)), "{places:?}");
        let fields = report["fleet"]["pools"][0]["fields"].as_array().expect("fields");
        let own = fields.iter().find(|field| field["key"] == "pool.env.NVIDIA_VISIBLE_DEVICES").expect("a field");
        assert_eq!((&own["value"], &own["location"]["region"]["start_line"]), (&json!("void"), &json!(9)), "{own}");
    }
}

/// What `check -` tells of a text: the exit code, the fates and what could not be read.
fn piped(repository: &TestRepository, text: &str) -> (i32, Vec<String>, String) {
    let done = repository.command(&["check", "-", "--format", "json"]).write_stdin(text).output().expect("a run");
    let report: Value = serde_json::from_slice(&done.stdout).unwrap_or_default();
    let fates = if report["subjects"][0].is_object() { test_repository::fates(&report) } else { Vec::new() };
    (code(&done), fates, report["errors"].to_string())
}

#[test]
fn a_report_is_judged_again_from_a_pipe() {
    let repository = TestRepository::new();
    let saved = out(&repository.run(&["check", "Dockerfile", "--format", "json"]));
    repository.file("report.json", &saved);
    let of_file = repository.json(&["check", "report.json"]);
    for text in [saved.clone(), format!("\n  {saved}")] {
        let (code, fates, errors) = piped(&repository, &text);
        assert_eq!((code, errors.as_str()), (0, "[]"));
        assert!(!fates.is_empty());
        assert_eq!(fates, test_repository::fates(&of_file));
    }
    // Other JSON is reported as such, and neither a Dockerfile nor a template is taken for JSON.
    for text in ["{\"a\": 1}", "{\"schema_version\": 1", "{ \"subjects\": 7 }"] {
        let (code, fates, errors) = piped(&repository, text);
        assert!(code == 2 && fates.is_empty() && !errors.contains("FROM"), "{text}: {code} {errors}");
    }
    for text in ["{{ base }}\nFROM python:3.11\n", "{% if x %}\nFROM python:3.11\n", "FROM python:3.11\n"] {
        let (_, _, errors) = piped(&repository, text);
        assert!(!errors.contains("report"), "{text}: {errors}");
    }
}
