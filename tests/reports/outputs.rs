//! Reports of the program: which go where, in which shape, and with which exit code.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;

use crate::outputs::json_schema::faults;
use crate::outputs::test_repository::{TestRepository, code, err, fates, out};
use crate::support::{json_schema, test_repository};

/// All names of formats.
const FORMATS: [&str; 13] = [
    "human",
    "concise",
    "json",
    "ndjson",
    "sarif",
    "github",
    "gitlab",
    "rdjsonl",
    "checkstyle",
    "junit",
    "markdown",
    "summary",
    "html",
];
/// Is refused on the pool `old`: its driver does not report CUDA 12.4.
const FAILING: &str = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nENV NVIDIA_REQUIRE_CUDA=cuda>=12.4\n";

fn files(repository: &TestRepository) -> Vec<String> {
    let list = fs::read_dir(repository.path(".")).expect("a folder");
    let mut names: Vec<String> =
        list.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn one_run_writes_several_reports() {
    let repository = TestRepository::new();
    repository.file("Dockerfile", FAILING);
    let done =
        repository.run(&["check", "--format", "sarif=a.sarif", "--format=concise", "--format", "html=a=b.html", "."]);
    assert_eq!(code(&done), 1, "{}", err(&done));
    assert!(out(&done).starts_with("Dockerfile:2:"), "{}", out(&done));
    assert_eq!(
        files(&repository),
        [".git", "Dockerfile", "a.sarif", "a=b.html", "fleet.toml"],
        "and nothing unfinished"
    );
    let sarif: Value = serde_json::from_slice(&fs::read(repository.path("a.sarif")).expect("a file")).expect("JSON");
    let first = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(first["artifactLocation"]["uri"], "Dockerfile");
    assert!(fs::read_to_string(repository.path("a=b.html")).expect("a file").starts_with("<!doctype html>"));
}

#[test]
fn message_names_the_loaded_libcuda_as_too_old() {
    let repository = TestRepository::empty();
    let said = |driver: &str, files: &str| {
        let pool =
            format!("[[pool]]\nname = \"b\"\ngpu = \"A100\"\ndriver = \"{driver}\"\nplatform = \"linux/amd64\"\n");
        repository.file("fleet.toml", &(pool + "launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n"));
        let env = "NVIDIA_VISIBLE_DEVICES = \"all\"\nNVIDIA_DISABLE_REQUIRE = \"true\"\n";
        let code = "[[gpu_code]]\nfile = \"app\"\nsass = [\"sm_80\"]\nptx = []\n";
        let head = "complete = [\"env\", \"packages\", \"files\", \"code\"]\ncuda_runtime = \"13.0\"\n";
        repository.file("a.image.toml", &format!("{head}[env]\n{env}{files}{code}"));
        out(&repository.run(&["check", "--format", "concise", "a.image.toml"]))
    };
    let compat = "[files]\n\"/usr/local/cuda/compat/libcuda.so.550.90.07\" = {}\n";
    let told = said("470.182.03", compat);
    assert!(told.contains(": cuda-compat 550.90.07 is too old for CUDA 13.0 [b]"), "{told}");
    assert!(!told.contains("driver 470") && !told.contains(": driver"), "{told}");
    // Where the host's is loaded, it is the driver's.
    for (driver, files) in [("470.182.03", ""), ("550.54.15", ""), ("570.86.15", compat)] {
        let told = said(driver, files);
        assert!(
            told.contains(&format!(": driver {driver} is too old for CUDA 13.0 [b]")) && !told.contains("compat"),
            "{told}"
        );
    }
}

#[test]
fn the_human_report_is_printed_if_other_reports_go_to_files() {
    let repository = TestRepository::new();
    repository.file("Dockerfile", FAILING);
    let both = repository.run(&["check", "--format", "json=a.json", "--format", "json=b.json", "."]);
    assert_eq!(out(&both), out(&repository.run(&["check", "."])));
    let alone = out(&repository.run(&["check", "--format", "json", "."]));
    assert_eq!(fates(&serde_json::from_str(&alone).expect("JSON")), fates(&repository.json(&["check", "."])));
    for name in ["a.json", "b.json"] {
        assert_eq!(fs::read_to_string(repository.path(name)).expect("a file"), alone, "{name}");
    }
    let beside = repository.run(&["check", "--format", "json", "--format", "sarif=c", "."]);
    assert_eq!(out(&beside), alone, "streamed with another report beside it");
}

#[test]
fn invalid_report_outputs_are_refused_before_reading_inputs() {
    let repository = TestRepository::new();
    fs::create_dir(repository.path("folder")).expect("a folder");
    for (formats, words) in [
        (&["json", "sarif"][..], "two reports cannot both go to standard output"),
        (&["json", "sarif=-"], "two reports cannot both go to standard output"),
        (&["json=x", "sarif=x"], "two reports cannot both go to x"),
        (&["json=nothere/x"], "directory nothere for the report does not exist"),
        (&["json=folder"], "folder is a directory, not a file for the report"),
        (&["sariff"], "did you mean `sarif`?"),
        (&["json="], "expected a file after `=`"),
        (&["yaml=x"], "the formats are human, concise"),
    ] {
        let flags: Vec<String> = formats.iter().map(|format| format!("--format={format}")).collect();
        let arguments: Vec<&str> = ["check"].into_iter().chain(flags.iter().map(String::as_str)).collect();
        let done = repository.run(&arguments);
        assert_eq!((code(&done), out(&done)), (2, String::new()), "{formats:?}");
        assert!(err(&done).contains(words), "{formats:?}: {}", err(&done));
        assert_eq!(files(&repository), [".git", "Dockerfile", "fleet.toml", "folder"]);
    }
}

#[test]
fn the_exit_code_is_the_same_in_every_format() {
    let repository = TestRepository::new();
    repository.file("failing/Dockerfile", FAILING);
    repository.file("none/README", "");
    for (arguments, expected) in [
        (&["Dockerfile"][..], 0),
        (&["failing/Dockerfile"], 1),
        (&["--fail-on", "never", "failing/Dockerfile"], 0),
        (&["nothere", "failing/Dockerfile"], 2),
        (&["none"], 3),
    ] {
        for format in FORMATS {
            let done = repository.run(&[&["check", "--format", format][..], arguments].concat());
            assert_eq!(code(&done), expected, "{format} {arguments:?}: {}", err(&done));
        }
    }
}

#[test]
fn an_output_file_is_replaced_only_by_a_complete_report() {
    let repository = TestRepository::new();
    repository.file("kept/old.json", "before");
    symlink(repository.path("kept/old.json"), repository.path("link.json")).expect("a link");
    let done = repository.run(&["check", "--format", "json=link.json", "--fleet", "nothere.toml", "."]);
    assert_eq!(code(&done), 2);
    assert_eq!(fs::read_to_string(repository.path("kept/old.json")).expect("a file"), "before", "nothing was told");
    let done = repository.run(&["check", "--format", "json=link.json", "."]);
    assert_eq!(code(&done), 0, "{}", err(&done));
    assert!(repository.path("link.json").is_symlink(), "a link stays a link");
    assert!(fs::read_to_string(repository.path("kept/old.json")).expect("a file").starts_with("{\n"));
    let done = repository.run(&["check", "--format", "sarif=/dev/null", "."]);
    assert_eq!(code(&done), 0, "{}", err(&done));
    assert!(!Path::new("/dev/null").is_file(), "a device stays a device");
    if let Ok(full) = fs::metadata("/dev/full").map(|_| "--format=html=/dev/full") {
        let done = repository.run(&["check", full, "."]);
        assert_eq!(code(&done), 2, "{}", err(&done));
        assert!(err(&done).contains("cannot write /dev/full"), "{}", err(&done));
    }
}

#[test]
fn paths_for_forges_are_those_of_the_repository() {
    let repository = TestRepository::new();
    repository.file("services/my app/Dockerfile", FAILING);
    let mut command =
        repository.command(&["check", "--fleet", "../fleet.toml", "--format", "sarif", "./my app/Dockerfile"]);
    let done = command.current_dir(repository.path("services")).output().expect("a run");
    let log: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let result = &log["runs"][0]["results"][0];
    let uri = |repository: &Value| repository["physicalLocation"]["artifactLocation"]["uri"].clone();
    assert_eq!(uri(&result["locations"][0]), "services/my%20app/Dockerfile");
    let related = result["relatedLocations"].as_array().expect("related places").iter();
    assert!(related.map(uri).any(|uri| uri == "fleet.toml"), "{result}");
    let mut command =
        repository.command(&["check", "--fleet", "../fleet.toml", "--format", "gitlab", "./my app/Dockerfile"]);
    let done = command.current_dir(repository.path("services")).output().expect("a run");
    let list: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(list[0]["location"]["path"], "services/my app/Dockerfile");
    // The report of tests and the comment on a pull request lead to the same files; a line for a terminal is of its folder.
    let from = |folder: &str, format: &str, input: &str| {
        let mut command = repository.command(&["check", "--format", format, input, "gone"]);
        out(&command.current_dir(repository.path(folder)).output().expect("a run"))
    };
    for (format, told) in [
        ("junit", "file=\"services/my app/Dockerfile\""),
        ("junit", "services/my app/Dockerfile:2: "),
        ("markdown", "| `services/my app/Dockerfile` |"),
        ("markdown", " at `services/my app/Dockerfile:2`"),
        ("summary", "| `services/my app/Dockerfile` |"),
    ] {
        assert!(from("services", format, "my app/Dockerfile").contains(told), "{format}");
        assert!(from(".", format, "services/my app/Dockerfile").contains(told), "{format} from the root");
    }
    assert!(from("services", "concise", "my app/Dockerfile").starts_with("my app/Dockerfile:2:"));
    assert!(from("services", "markdown", "my app/Dockerfile").contains("`gone`"));
}

#[test]
fn lines_of_two_targets_name_their_target() {
    let repository = TestRepository::new();
    repository.file("app/Dockerfile", FAILING);
    repository.file(
        "app/docker-bake.hcl",
        "group \"default\" { targets = [\"a\", \"b\"] }\ntarget \"a\" {}\ntarget \"b\" {}\n",
    );
    let mut command = repository.command(&["check", "--bake", "docker-bake.hcl", "--format", "concise"]);
    let text = out(&command.current_dir(repository.path("app")).output().expect("a run"));
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(" error ")).collect();
    assert_eq!(lines.len(), 2, "{text}");
    for (line, target) in lines.iter().zip(["a", "b"]) {
        assert!(line.starts_with("Dockerfile:2:") && line.contains(&format!(": docker-bake.hcl:{target}: ")), "{line}");
    }
    let mut command = repository.command(&["check", "--bake", "docker-bake.hcl", "--format", "markdown"]);
    let text = out(&command.current_dir(repository.path("app")).output().expect("a run"));
    assert!(text.contains("| `app/docker-bake.hcl:b` |"), "{text}");
    let text = out(&repository.run(&["check", "--format", "concise", "app/Dockerfile"]));
    assert!(text.starts_with("app/Dockerfile:2:") && text.matches("app/Dockerfile").count() == 1, "{text}");
}

#[test]
fn fingerprints_survive_moved_lines_and_folders() {
    let repository = TestRepository::new();
    let prints = || {
        let list: Value =
            serde_json::from_str(&out(&repository.run(&["check", "--format", "gitlab", "."]))).expect("JSON");
        list.as_array().expect("a list").iter().map(|one| one["fingerprint"].clone()).collect::<Vec<_>>()
    };
    repository.file("Dockerfile", FAILING);
    let before = prints();
    assert!(!before.is_empty());
    repository.file("Dockerfile", &format!("# a word\n\n{FAILING}RUN true\n"));
    assert_eq!(prints(), before);
    repository.file("Dockerfile", &FAILING.replace("12.4\n", "12.5\n"));
    assert_ne!(prints(), before);
}

fn published(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name);
    serde_json::from_slice(&fs::read(path).expect("the schema")).expect("JSON")
}

#[test]
fn the_published_schemas_are_those_of_the_program() {
    let repository = TestRepository::empty();
    for (arguments, name) in [
        (&["schema"][..], "report.schema.json"),
        (&["schema", "json"], "report.schema.json"),
        (&["schema", "ndjson"], "report-line.schema.json"),
    ] {
        let printed: Value = serde_json::from_str(&out(&repository.run(arguments))).expect("JSON");
        assert!(printed == published(name), "write it anew: imagelint {} > examples/{name}", arguments.join(" "));
        assert_eq!(printed["$schema"], "https://json-schema.org/draft/2020-12/schema");
    }
    assert_eq!(repository.run(&["schema", "yaml"]).status.code(), Some(2));
}

#[test]
fn every_line_of_a_report_fits_the_schema_of_lines() {
    let (schema, whole) = (published("report-line.schema.json"), published("report.schema.json"));
    let repository = TestRepository::new();
    repository.file("Dockerfile", FAILING);
    repository.file("bad.image.toml", "cuda_runtime = 1\n");
    let text = out(&repository.run(&["check", "--format", "ndjson", "Dockerfile", "bad.image.toml", "nothere"]));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let types: Vec<&str> = lines.iter().filter_map(|line| line["type"].as_str()).collect();
    assert_eq!(types, ["error", "error", "subject", "summary"], "{text}");
    for line in &lines {
        assert_eq!(faults(&schema, line), Vec::<String>::new(), "{line}");
        assert_ne!(faults(&whole, line), Vec::<String>::new(), "a line is no whole report");
        for wrong in [Value::Null, Value::from("line"), Value::from(1)] {
            let mut line = line.clone();
            line["type"] = wrong;
            assert_ne!(faults(&schema, &line), Vec::<String>::new(), "{line}");
        }
        // A description is whatever `describe` prints.
        for name in line.as_object().expect("an object").keys().filter(|name| *name != "description") {
            let mut line = line.clone();
            line[name] = Value::from(vec![Vec::<Value>::new()]);
            assert_ne!(faults(&schema, &line), Vec::<String>::new(), "{name}");
        }
    }
    let mut swapped = lines[2].clone();
    swapped["type"] = Value::from("summary");
    assert_ne!(faults(&schema, &swapped), Vec::<String>::new());
    assert_ne!(faults(&schema, &repository.json(&["check", "Dockerfile"])), Vec::<String>::new());
}

#[test]
fn every_report_of_the_examples_fits_the_schema() {
    let schema = published("report.schema.json");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut seen = 0;
    for entry in fs::read_dir(&examples).expect("examples") {
        let folder = entry.expect("an entry").path();
        if !folder.join("fleet.toml").is_file() {
            continue;
        }
        seen += 1;
        let report = TestRepository::empty().json(&["check", folder.to_str().expect("UTF-8")]);
        assert_eq!(faults(&schema, &report), Vec::<String>::new(), "{}", folder.display());
        assert!(report["subjects"][0]["verdicts"][0]["scenarios"][0]["steps"][0]["cite"].is_string());
    }
    assert!(seen > 3);
    let repository = TestRepository::new();
    repository.file("Dockerfile", "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUNN y\n");
    let report = repository.json(&["check", "nothere", "Dockerfile"]);
    assert_eq!(faults(&schema, &report), Vec::<String>::new());
    for (pointer, wrong) in [
        ("/subjects/0/name", Value::Null),
        ("/fleet/pools/0/gpu/0", Value::from(1)),
        ("/schema_version", Value::from("1")),
        ("/errors", Value::Null),
        ("/subjects/0/verdicts/0/codes", Value::from("803")),
        ("/subjects/0/findings/0/locations/0/region/start_line", Value::from(-1)),
    ] {
        let mut report = report.clone();
        *report.pointer_mut(pointer).expect(pointer) = wrong;
        assert_ne!(faults(&schema, &report), Vec::<String>::new(), "{pointer}");
    }
    let mut report = report;
    report.as_object_mut().expect("an object").remove("tool");
    assert_eq!(faults(&schema, &report).len(), 1);
}

/// A fleet of pools with these GPUs, on drivers that all run CUDA 12.
fn fleet_of(gpus: &[&str]) -> String {
    let pool = |gpu: &&str| {
        let name = gpu.to_lowercase();
        format!(
            "[[pool]]\nname = \"{name}\"\ngpu = \"{gpu}\"\ndriver = \"580.95.05\"\nlaunch = \"nvidia-runtime\"\ntoolkit = \"1.17.8\"\n"
        )
    };
    gpus.iter().map(pool).collect()
}

#[test]
fn shared_cause_on_several_pools_is_reported_once() {
    let repository = TestRepository::new();
    // No code for 8.0 and above.
    repository.file("Dockerfile", "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install torch==1.12.1\n");
    let told = |gpus: &[&str]| {
        repository.file("fleet.toml", &fleet_of(gpus));
        let text = out(&repository.run(&["check", "--format", "concise"]));
        text.lines().filter(|line| line.contains(" error ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let one = told(&["A100", "V100"]);
    assert!(
        matches!(one.as_slice(), [line] if line.contains("torch 1.12.1 has no native code for A100 (sm_80) [") && line.ends_with(" [a100]")),
        "{one:?}"
    );
    let three = told(&["A100", "H100", "L4", "V100"]);
    let [line] = three.as_slice() else { panic!("one finding: {three:?}") };
    assert!(
        line.contains("torch 1.12.1 has no native code for A100 (sm_80), H100 (sm_90) and L4 (sm_89) [")
            && line.ends_with(" [a100, h100, l4]"),
        "{line}"
    );
    let json: Value = serde_json::from_str(&out(&repository.run(&["check", "--format", "json"]))).expect("JSON");
    let messages: Vec<&Value> =
        json["subjects"][0]["verdicts"].as_array().expect("verdicts").iter().map(|one| &one["message"]).collect();
    assert!(
        messages.iter().any(|one| one.as_str().is_some_and(|one| one.contains("H100"))),
        "each verdict names its own: {messages:?}"
    );
}

#[test]
fn another_pool_does_not_change_the_fingerprint_of_a_finding() {
    let repository = TestRepository::new();
    repository.file("Dockerfile", "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install torch==1.12.1\n");
    let prints = |gpus: &[&str]| {
        repository.file("fleet.toml", &fleet_of(gpus));
        let list: Value = serde_json::from_str(&out(&repository.run(&["check", "--format", "gitlab"]))).expect("JSON");
        let list = list.as_array().expect("a list").clone();
        let major = list.iter().filter(|one| one["severity"] == "major");
        major.map(|one| one["fingerprint"].as_str().expect("a fingerprint").to_owned()).collect::<Vec<_>>()
    };
    let one = prints(&["A100", "V100"]);
    assert_eq!(one.len(), 1);
    for more in [&["A100", "H100", "V100"][..], &["H100", "A100", "V100"], &["L4"]] {
        assert_eq!(prints(more), one, "{more:?}");
    }
    // Another cause at the same line is known by itself.
    repository.file("Dockerfile", "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install torch==1.12.1 # other\n");
    assert_ne!(prints(&["A100", "V100"]), one);
}

#[test]
fn two_causes_stay_two_findings() {
    let repository = TestRepository::new();
    repository.file("Dockerfile", FAILING);
    let old = |name: &str, driver: &str| {
        format!(
            "[[pool]]\nname = \"{name}\"\ngpu = \"T4\"\ndriver = \"{driver}\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.14.3\"\n"
        )
    };
    // The requirement refuses both in the same words; a GPU without code is another cause.
    repository.file("fleet.toml", &format!("{}{}", old("a", "525.60.13"), old("b", "535.54.03")));
    let text = out(&repository.run(&["check", "--format", "concise"]));
    assert_eq!(text.lines().filter(|line| line.ends_with(" [a, b]")).count(), 1, "{text}");
    repository.file(
        "Dockerfile",
        "FROM nvidia/cuda:11.8.0-runtime-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install torch==2.9.0\n",
    );
    repository.file("fleet.toml", &format!("{}{}", old("a", "470.57.02"), old("b", "535.54.03").replace("T4", "K80")));
    let json: Value = serde_json::from_str(&out(&repository.run(&["check", "--format", "json"]))).expect("JSON");
    let findings = json["subjects"][0]["findings"].as_array().expect("findings");
    let errors: Vec<&Value> = findings.iter().filter(|one| one["severity"] == "error").collect();
    assert!(
        errors.len() == 2 && errors.iter().all(|one| one["pools"].as_array().is_some_and(|all| all.len() == 1)),
        "{errors:#?}"
    );
}
