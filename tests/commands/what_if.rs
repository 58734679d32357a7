//! `imagelint fleet what-if`: images on a fleet that is changed, through the built program.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;
use test_repository::{TestRepository, code, err, out};

use crate::support::test_repository;

/// Two pools started without a check of the requirement.
const FLEET: &str = r#"[[pool]]
name = "t4"
gpu = "T4"
driver = "470.182.03"
platform = "linux/amd64"
launch = "docker-cdi"
toolkit = "1.17.8"

[[pool]]
name = "a100.new"
gpu = "A100"
driver = "580.95.05"
platform = "linux/amd64"
launch = "docker-cdi"
toolkit = "1.17.8"
"#;

const COMPLETE: &str = "complete = [\"env\", \"packages\", \"files\", \"code\"]\n";

/// A program of a CUDA release with machine code for some GPUs, and PTX where that is said.
fn compare_image(cuda: &str, sass: &[&str], ptx: &[&str]) -> String {
    format!("{COMPLETE}cuda_runtime = \"{cuda}\"\n[[gpu_code]]\nfile = \"app\"\nsass = {sass:?}\nptx = {ptx:?}\n")
}

fn repository() -> TestRepository {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", FLEET);
    repository.file("cuda12.image.toml", &compare_image("12.4", &["sm_75", "sm_80"], &["compute_80"]));
    repository.file("cuda11.image.toml", &compare_image("11.4", &["sm_75", "sm_80"], &[]));
    repository.file("hopper.image.toml", &compare_image("12.4", &["sm_90"], &[]));
    repository
}

const ALL: [&str; 3] = ["cuda12.image.toml", "cuda11.image.toml", "hopper.image.toml"];

fn what_if_report(repository: &TestRepository, more: &[&str]) -> Value {
    repository.json(&[&["fleet", "what-if"], &ALL[..], more].concat())
}

fn changed(report: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for image in report["changed"].as_array().expect("images") {
        for pool in image["pools"].as_array().expect("pools") {
            found.push(format!("{} {} {}", image["name"], pool["pool"], pool["change"]).replace('"', ""));
        }
    }
    found
}

#[test]
fn a_newer_driver_repairs_and_an_older_driver_breaks() {
    let repository = repository();
    let report = what_if_report(&repository, &["--set", "t4.driver=550.54.15"]);
    // What has no code for the GPU fails with every driver, but for another reason.
    assert_eq!(changed(&report), ["cuda12.image.toml t4 works", "hopper.image.toml t4 otherwise"], "{report}");
    let pool = &report["fleet"]["pools"][0];
    assert_eq!(pool["driver"], "550.54.15");
    // What was set has no place in the file, and everything else has the one that it had.
    for field in pool["fields"].as_array().expect("fields") {
        assert_eq!(field["location"].is_null(), field["key"] == "pool.driver", "{field}");
    }
    // The older driver is too old for CUDA 12, and new enough for CUDA 11; no driver adds code for a GPU.
    let report = what_if_report(&repository, &["--set", "a100.new.driver=470.182.03"]);
    let told = changed(&report);
    assert_eq!(told, ["cuda12.image.toml a100.new breaks", "hopper.image.toml a100.new otherwise"], "{report}");
    assert_eq!(changed(&what_if_report(&repository, &[])), Vec::<String>::new());
    assert_eq!(
        changed(&what_if_report(&repository, &["--set", "t4.driver=470.182.03", "--remove", "a100.new"])),
        Vec::<String>::new()
    );
}

#[test]
fn smallest_driver_is_set_by_the_most_demanding_startable_image() {
    let repository = repository();
    let report = what_if_report(&repository, &[]);
    let drivers = report["drivers"].as_array().expect("pools");
    for driver in drivers {
        assert_eq!(driver["never"], Value::from(vec!["hopper.image.toml"]), "{driver}");
        assert_eq!(driver["open"], Value::Array(Vec::new()), "{driver}");
        let smallest = driver["smallest"].as_str().expect("a driver");
        assert!(smallest.starts_with("525."), "{driver}");
        assert_eq!(driver["enough"], driver["pool"] == "a100.new", "{driver}");
        // What it says is what a change to it makes, and one release less does not do.
        let pool = driver["pool"].as_str().expect("a pool");
        let with = what_if_report(&repository, &["--set", &format!("{pool}.driver={smallest}")]);
        let now = with["drivers"].as_array().expect("pools").iter().find(|one| one["pool"] == pool).expect("the pool");
        assert_eq!(now["enough"], true, "{now}");
    }
    let report = repository.json(&["fleet", "what-if", "cuda11.image.toml"]);
    assert!(report["drivers"][0]["smallest"].as_str().is_some_and(|driver| driver.starts_with('4')), "{report}");
}

#[test]
fn a_new_pool_lists_the_images_that_start_on_it() {
    let repository = repository();
    let report =
        what_if_report(&repository, &["--add", "h100: gpu=H100, driver=580.95.05, launch=docker-cdi, toolkit=1.17.8"]);
    let ready = &report["ready"][0];
    assert_eq!(
        (&ready["pool"], &ready["ready"][0]),
        (&Value::from("h100"), &Value::from("hopper.image.toml")),
        "{ready}"
    );
    assert_eq!(
        (&ready["jit"][0], &ready["fail"][0]),
        (&Value::from("cuda12.image.toml"), &Value::from("cuda11.image.toml"))
    );
    // What was not there before breaks nothing.
    assert_eq!(changed(&report), Vec::<String>::new());
    let done =
        repository.run(&[&["fleet", "what-if"], &ALL[..], &["--add", "h100: gpu=H100, driver=580.95.05"]].concat());
    assert_eq!(code(&done), 0, "{}", out(&done));
    assert!(out(&done).contains("new pool `h100`: 1 not ready: `cuda11.image.toml`"), "{}", out(&done));
    // What is not said of the pool is asked for where it decides, and nowhere else.
    assert!(
        out(&done).contains("new pool `h100`: to resolve the unknown: set `launch` of the pool\n"),
        "{}",
        out(&done)
    );
    assert_eq!(ready["missing"], Value::Array(Vec::new()), "{ready}");
}

#[test]
fn exit_code_reports_breaking_changes() {
    let repository = repository();
    for (more, expected, said) in [
        (&["--set", "a100.new.driver=450.80.02"][..], 1, "breaks: 1 image on `a100.new`"),
        (&["--set", "a100.new.driver=450.80.02", "--fail-on", "never"], 0, "breaks: 1 image"),
        (&["--set", "a100.new.driver=450.80.02", "--pool", "t4"], 0, "breaks nothing"),
        (&["--set", "t4.driver=550.54.15"], 0, "unlocks: 1 image on `t4`; breaks nothing"),
        (&["--set", "t4.driver=550.54.15", "--format", "markdown"], 0, "| `cuda12.image.toml` | `t4` | fails"),
        (&["--set", "t5.driver=550.54.15"], 2, "has no pool `t5`; did you mean `t4`?"),
        (&["--set", "t4.drivers=550.54.15"], 2, "--set t4.drivers=550.54.15: unknown key `drivers`"),
        (&["--set", "t4.driver=new"], 2, "--set t4.driver=new: `new` is not a driver version"),
        (&["--set", "t4.name=x"], 2, "--set t4.name=x: the name of a pool cannot change"),
        (&["--set", "t4.nodes=many"], 2, "--set t4.nodes=many: "),
        (&["--set", "t4.gpu=[\"T4\", \"T44\"]"], 2, "unknown GPU `T44`"),
        (&["--add", "x: gpu=B200, driver=y"], 2, "--add x: gpu=B200, driver=y: `y` is not a driver version"),
        (&["--set", "t4"], 2, "expected POOL.KEY=VALUE"),
        (&["--set", "t4.gpu=T44"], 2, "unknown GPU `T44`"),
        (&["--add", "t4: gpu=T4"], 2, "already has a pool `t4`"),
        (&["--add", "x: gpu=B2000"], 2, "unknown GPU `B2000`"),
        (&["--add", "x gpu=B200"], 2, "expected NAME: KEY=VALUE"),
        (&["--add", "x: a\n[[pool]]\n=1"], 2, "is not a key of a pool"),
        (&["--remove", "t5"], 2, "has no pool `t5`"),
        (&["nowhere.json"], 2, "nowhere.json"),
    ] {
        let done = repository.run(&[&["fleet", "what-if"], &ALL[..], more].concat());
        let text = out(&done) + &err(&done);
        assert!(code(&done) == expected && text.contains(said), "{more:?} {}: {text}", code(&done));
    }
    assert_eq!(code(&repository.run(&["fleet", "what-if"])), 2);
    // Where no fleet is declared, that is what is missing.
    let help = "help: found no fleet file; pass one with --fleet fleet.toml";
    for (repository, more, helped) in [
        (&TestRepository::empty(), &["--set", "t5.driver=550.54.15"][..], true),
        (&repository, &["--set", "t5.driver=550.54.15"], false),
    ] {
        let done = repository.run(&[&["fleet", "what-if"], &ALL[..], more].concat());
        assert_eq!((code(&done), err(&done).contains(help)), (2, helped), "{}", err(&done));
    }
}

/// What a report keeps is enough: the files that it was made from are gone.
#[test]
fn saved_report_gives_the_same_result_as_its_images() {
    let repository = repository();
    let report = repository.run(&[&["check", "--format", "json"], &ALL[..]].concat()).stdout;
    fs::write(repository.path("report.json"), report).expect("a report");
    let more = ["--set", "t4.driver=550.54.15", "--add", "h100: gpu=H100, driver=580.95.05"];
    let of_files = what_if_report(&repository, &more);
    for name in ALL {
        fs::remove_file(repository.path(name)).expect(name);
    }
    let of_report = repository.json(&[&["fleet", "what-if", "report.json"], &more[..]].concat());
    assert_eq!(of_report["images"], 3);
    let sorted = |report: &Value, key: &str| {
        let mut told: Vec<String> = report[key].as_array().expect(key).iter().map(ToString::to_string).collect();
        told.sort();
        told
    };
    assert_eq!(sorted(&of_files, "changed"), sorted(&of_report, "changed"));
    assert_eq!(of_files["drivers"][0]["smallest"], of_report["drivers"][0]["smallest"]);
}

/// Many images on many pools: each verdict is that of its own pool.
#[test]
fn many_images_on_many_pools() {
    let repository = repository();
    let mut fleet = String::new();
    for at in 0..20 {
        let driver = if at % 2 == 0 { "470.182.03" } else { "580.95.05" };
        let gpu = ["T4", "A100", "H100", "L4"][at % 4];
        write!(
            fleet,
            "[[pool]]\nname = \"p{at}\"\ngpu = \"{gpu}\"\ndriver = \"{driver}\"\nplatform = \"linux/amd64\"\n\
             launch = \"docker-cdi\"\ntoolkit = \"1.17.8\"\n"
        )
        .expect("a text");
    }
    repository.file("fleet.toml", &fleet);
    for at in 0..30 {
        let cuda = ["11.4", "12.4", "12.6"][at % 3];
        repository.file(&format!("many/{at}.image.toml"), &compare_image(cuda, &["sm_75", "sm_80", "sm_90"], &[]));
    }
    let report =
        repository.json(&["fleet", "what-if", "many", "--fleet", "fleet.toml", "--set", "p0.driver=580.95.05"]);
    let told = changed(&report);
    assert_eq!(told.len(), 20, "{told:?}");
    assert!(told.iter().all(|one| one.contains(" p0 ")), "{told:?}");
    assert_eq!(report["drivers"].as_array().map(Vec::len), Some(20));
}

/// Longer than any file that is read whole: the same is said of it as of its images.
#[test]
fn long_saved_report_gives_the_same_result_as_its_images() {
    let repository = repository();
    let mut fleet = String::new();
    for at in 0..20 {
        let (gpu, driver) = (["T4", "A100", "H100", "L4"][at % 4], ["470.182.03", "550.54.15"][at % 2]);
        let launch = ["docker-gpus", "kubernetes"][at % 2];
        let rest = "platform = \"linux/amd64\"";
        writeln!(
            fleet,
            "[[pool]]\nname = \"p{at}\"\ngpu = \"{gpu}\"\ndriver = \"{driver}\"\nlaunch = \"{launch}\"\n{rest}"
        )
        .expect("a text");
    }
    repository.file("fleet.toml", &fleet);
    for at in 0..60 {
        let (cuda, ptx): (&str, &[&str]) = (["11.4", "12.4", "12.8"][at % 3], [&[][..], &["compute_75"][..]][at % 2]);
        repository.file(&format!("many/{at:02}.image.toml"), &compare_image(cuda, &["sm_75", "sm_80"], ptx));
    }
    let report =
        repository.run(&["check", "--format", "json", "--fail-on", "never", "--fleet", "fleet.toml", "many"]).stdout;
    assert!(report.len() > 4 << 20, "{} bytes are no long report", report.len());
    fs::write(repository.path("report.json"), report).expect("a report");
    let more = ["--fleet", "fleet.toml", "--set", "p1.driver=580.95.05", "--add", "b200: gpu=B200, driver=580.95.05"];
    let of_files = repository.json(&[&["fleet", "what-if", "many"], &more[..]].concat());
    let of_report = repository.json(&[&["fleet", "what-if", "report.json"], &more[..]].concat());
    assert_eq!(of_report["errors"].as_array().map(Vec::len), Some(0), "{}", of_report["errors"]);
    for key in ["images", "summary", "changed", "ready", "drivers"] {
        assert_eq!(of_files[key], of_report[key], "{key}");
    }
    assert!(!changed(&of_files).is_empty());
}

/// Where a comment names a pool that is new, the image leaves the others.
#[test]
fn image_with_a_pools_directive_moves_to_the_new_pool() {
    let repository = repository();
    repository.file("Dockerfile", "# imagelint: pools=later\nFROM nvidia/cuda:12.4.1-base-ubuntu22.04\n");
    let add = "later: gpu=L4, driver=580.95.05, platform=linux/amd64, launch=docker-gpus, toolkit=1.17.8";
    let report = repository.json(&["fleet", "what-if", "Dockerfile", "--add", add]);
    assert_eq!(report["drivers"].as_array().map(Vec::len), Some(1), "{report}");
    assert_eq!(report["ready"][0]["ready"].as_array().map(Vec::len), Some(1), "{report}");
    let other = repository.json(&["fleet", "what-if", "Dockerfile", "--set", "t4.driver=580.95.05"]);
    assert_eq!(other["drivers"].as_array().map(Vec::len), Some(2), "no such pool: it runs on all of them: {other}");
}

/// One of many images: its base, its requirements and its packages.
fn mixed(at: usize) -> String {
    let pick = |list: &[&str], by: usize| list[(at / by) % list.len()].to_owned();
    let require = pick(
        &[
            "",
            "NVIDIA_REQUIRE_CUDA = \"cuda>=11.7 brand=tesla,driver>=470,driver<471 driver>=515\"\n",
            "NVIDIA_REQUIRE_DRIVER = \"driver>=470.129.06,driver<525.85\"\n",
            "NVIDIA_REQUIRE_ARCH = \"arch>=9.0\"\n",
        ],
        1,
    );
    let (cuda, major) = [("11.4", 11), ("12.4", 12), ("13.0", 13)][(at / 4) % 3];
    let code = pick(
        &[
            "sass = [\"sm_75\", \"sm_80\"]\nptx = []",
            "sass = [\"sm_90\"]\nptx = []",
            "sass = []\nptx = [\"compute_70\"]",
        ],
        12,
    );
    let compat = [String::new(), format!("[files]\n\"/usr/local/cuda-{major}/compat/libcuda.so.535.104.05\" = {{}}\n")];
    format!(
        "{COMPLETE}cuda_runtime = \"{cuda}\"\n[env]\nNVIDIA_VISIBLE_DEVICES = \"all\"\n{require}[[gpu_code]]\nfile = \"app\"\n{code}\n{}",
        compat[(at / 5) % 2]
    )
}

#[test]
fn smallest_driver_agrees_with_trying_every_release() {
    let pool = |name: &str, driver: &str| {
        format!(
            "[[pool]]\nname = \"{name}\"\ngpu = \"T4\"\ndriver = \"{driver}\"\nplatform = \"linux/amd64\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.14.3\"\n"
        )
    };
    let knowledge = imagelint::knowledge::Knowledge::built_in();
    let drivers = imagelint::fix::minimum_driver::all_driver_releases(knowledge);
    let repository = TestRepository::empty();
    repository.file("one.toml", &pool("now", "535.161.08"));
    repository.file(
        "all.toml",
        &drivers.iter().map(|driver| pool(&driver.to_string(), &driver.to_string())).collect::<String>(),
    );
    let names: Vec<String> = (0..36).map(|at| format!("{at:02}.image.toml")).collect();
    for (at, name) in names.iter().enumerate() {
        repository.file(name, &mixed(at));
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let told = repository.json(&[&["fleet", "what-if", "--fleet", "one.toml"], &names[..]].concat());
    let every = repository.json(&[&["check", "--fleet", "all.toml", "--fail-on", "never"], &names[..]].concat());
    assert_eq!((&told["errors"], &every["errors"]), (&Value::Array(Vec::new()), &Value::Array(Vec::new())));
    let (mut never, mut open, mut smallest) = (Vec::new(), Vec::new(), drivers.clone());
    for subject in every["subjects"].as_array().expect("images") {
        let fates: Vec<(&str, &str)> = subject["verdicts"]
            .as_array()
            .expect("verdicts")
            .iter()
            .filter(|verdict| verdict["component"].is_null())
            .filter_map(|verdict| Some((verdict["pool"].as_str()?, verdict["fate"].as_str()?)))
            .collect();
        assert_eq!(fates.len(), drivers.len(), "{}", subject["name"]);
        let starts = |driver: &str| fates.iter().any(|(pool, fate)| *pool == driver && *fate == "starts");
        if !fates.iter().any(|(_, fate)| *fate == "starts") {
            let list = if fates.iter().all(|(_, fate)| *fate == "fails") { &mut never } else { &mut open };
            list.push(subject["name"].clone());
            continue;
        }
        smallest.retain(|driver| starts(&driver.to_string()));
    }
    let own = &told["drivers"][0];
    assert!((5..35).contains(&never.len()), "a mixed lot: {never:?}");
    assert_eq!(own["never"], Value::Array(never));
    assert_eq!(own["open"], Value::Array(open));
    // Of the releases with which all start, the last unbroken row.
    let row = drivers.iter().rev().skip_while(|one| !smallest.contains(one)).take_while(|one| smallest.contains(one));
    assert_eq!(own["smallest"], row.last().map(|driver| Value::String(driver.to_string())).unwrap_or_default());
}

#[test]
fn largest_working_driver_is_shown_if_newer_drivers_fail() {
    let repository = repository();
    repository.file("torch/Dockerfile", "FROM python:3.11-slim\nRUN pip install torch==2.6.0\n");
    let row = |driver: &str| {
        let add = format!("v: gpu=V100, driver={driver}, launch=docker-gpus, toolkit=1.17.8");
        let report = repository.json(&["fleet", "what-if", "torch/Dockerfile", "--add", &add]);
        report["drivers"].as_array().expect("pools").iter().find(|one| one["pool"] == "v").expect("the pool").clone()
    };
    let new = row("590.44.01");
    assert_eq!((&new["enough"], &new["smallest"]), (&Value::from(false), &Value::from("525.60.13")), "{new}");
    let last = new["largest"].as_str().expect("a release");
    assert!(last.starts_with("580."), "{new}");
    assert_eq!(row(last)["enough"], true);
    let add = "v: gpu=V100, driver=590.44.01, launch=docker-gpus, toolkit=1.17.8";
    let text = out(&repository.run(&["fleet", "what-if", "torch/Dockerfile", "--add", add]));
    assert!(text.contains(&format!("525.60.13, and the largest is {last} (now 590.44.01)")), "{text}");
    // With drivers that know newer GPUs it depends on them where none is declared.
    let add = "any: driver=535.54.03, platform=linux/amd64, launch=docker-gpus, toolkit=1.17.8";
    let text = out(&repository.run(&["fleet", "what-if", "torch/Dockerfile", "--add", add]));
    let line = text.lines().find(|line| line.starts_with("pool `any`")).expect("a line");
    assert!(line.contains(" on any GPU, because the pool declares none (now 535.54.03"), "{line}");
    assert!(!line.contains("the largest is"), "{line}");
    // Where every newer one does there is no last.
    for pool in what_if_report(&repository, &[])["drivers"].as_array().expect("pools") {
        assert!(pool["largest"].is_null(), "{pool}");
    }
}

/// What starts by another route starts.
#[test]
fn changed_verdict_has_the_sign_of_its_outcome() {
    let repository = TestRepository::empty();
    let pool = "[[pool]]\nname = \"a\"\ngpu = \"A100\"\ndriver = \"535.161.08\"\nplatform = \"linux/amd64\"\n\
                launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n";
    repository.file("fleet.toml", pool);
    repository.file("Dockerfile", "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install torch==2.4.1+cu124\n");
    for (change, sign) in [("a.driver=550.54.15", "✅ "), ("a.driver=390.157", "❌ ")] {
        let text = out(&repository.run(&["fleet", "what-if", "Dockerfile", "--set", change, "--format", "markdown"]));
        let row = text.lines().find(|line| line.starts_with("| `Dockerfile` ")).unwrap_or_else(|| panic!("{text}"));
        assert!(row.contains(sign) && !row.contains("❓"), "{row}");
    }
}

/// A new pool has the messages of `check`: the reasons of unknown verdicts, and the uninspected parts.
#[test]
fn a_new_pool_lists_unknown_verdicts_with_their_reasons() {
    let repository = repository();
    let start = "FROM python:3.11-slim\nENV NVIDIA_VISIBLE_DEVICES=all\nRUN pip install torch==2.7.1+cu118";
    let index = "--extra-index-url https://download.pytorch.org/whl/cu118\n";
    repository.file("open.Dockerfile", &format!("{start} vllm==0.10.1.1 {index}"));
    repository.file("open2.Dockerfile", &format!("{start} vllm==0.10.1.1 requests==2.32.3 {index}"));
    repository.file("unseen.Dockerfile", &format!("{start} flash-attn==2.8.3 {index}"));
    repository.file("seen.Dockerfile", &format!("{start} {index}"));
    let files = ["open.Dockerfile", "open2.Dockerfile", "unseen.Dockerfile", "seen.Dockerfile"];
    let fields = "gpu=A100-SXM4-80GB, driver=580.95.05, platform=linux/amd64, launch=docker-gpus, toolkit=1.17.8";
    let added = format!("new: {fields}");
    let asked = [&["fleet", "what-if"], &files[..], &["--add", &added]].concat();
    let report = repository.json(&asked);
    let ready = &report["ready"][0];
    assert_eq!(ready["unseen"], serde_json::json!(["unseen.Dockerfile"]), "{ready}");
    assert_eq!(ready["ready"], serde_json::json!(["unseen.Dockerfile", "seen.Dockerfile"]), "{ready}");
    assert_eq!(ready["open"], serde_json::json!(files[..2]), "{ready}");
    let [reason] = ready["reasons"].as_array().expect("reasons").as_slice() else { panic!("{ready}") };
    assert_eq!(reason["images"], ready["open"], "{ready}");
    // The same words as where the pool is there already.
    let mut fleet = FLEET.to_owned();
    fleet.push_str(
        "[[pool]]\nname = \"new\"\ngpu = \"A100-SXM4-80GB\"\ndriver = \"580.95.05\"\nplatform = \"linux/amd64\"\n",
    );
    fleet.push_str("launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n");
    repository.file("other.toml", &fleet);
    let checked = repository.json(&["check", "open.Dockerfile", "--fleet", "other.toml", "--pool", "new"]);
    let verdicts = checked["subjects"][0]["verdicts"].as_array().expect("verdicts");
    let whole = verdicts.iter().find(|verdict| verdict["component"].is_null()).expect("a verdict");
    assert_eq!((&whole["message"], &whole["missing"]), (&reason["message"], &ready["missing"]), "{ready}");
    let told = out(&repository.run(&asked));
    for line in [
        "new pool `new`: 2 ready: `unseen.Dockerfile` and `seen.Dockerfile`\n",
        "new pool `new`: 1 of these not fully inspected: `unseen.Dockerfile`\n",
        "new pool `new`: 2 unknown: `open.Dockerfile` and `open2.Dockerfile`\n",
        "new pool `new`: `open.Dockerfile` and `open2.Dockerfile`: unknown: vllm is built for CUDA 12.6",
        "to resolve the unknown: ",
    ] {
        assert!(told.contains(line), "{line} is not in {told}");
    }
    // Certain verdicts have no reasons, and inspected images have no uninspected parts.
    let asked = ["fleet", "what-if", "seen.Dockerfile", "--add", &added];
    let ready = repository.json(&asked)["ready"][0].clone();
    for key in ["unseen", "open", "reasons", "missing", "fail"] {
        assert_eq!(ready[key], Value::Array(Vec::new()), "{key}: {ready}");
    }
    let told = out(&repository.run(&asked));
    assert!(!told.contains("not fully inspected") && !told.contains("to resolve"), "{told}");
}

/// A compat library is for some older branches, and not for those in between.
#[test]
fn working_driver_below_the_smallest_is_shown() {
    let repository = TestRepository::empty();
    let torch = "RUN pip install torch==2.7.1+cu128 --index-url https://download.pytorch.org/whl/cu128\n";
    repository.file("new.Dockerfile", &format!("FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04\n{torch}"));
    repository.file("old.image.toml", &compare_image("11.4", &["sm_75"], &[]));
    let on = |driver: &str, file: &str| {
        let fields = "gpu = \"T4\"\nplatform = \"linux/amd64\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.14.3\"\n";
        repository.file("fleet.toml", &format!("[[pool]]\nname = \"a\"\ndriver = \"{driver}\"\n{fields}"));
        let told = out(&repository.run(&["fleet", "what-if", file]));
        (repository.json(&["fleet", "what-if", file])["drivers"][0].clone(), told)
    };
    let number = |text: &Value| -> Vec<u32> {
        text.as_str().unwrap_or_default().split('.').filter_map(|part| part.parse().ok()).collect()
    };
    for (driver, below) in [("470.57.02", true), ("580.95.05", false), ("520.61.05", false)] {
        let (told, text) = on(driver, "new.Dockerfile");
        assert_eq!(told["below"], below, "{told}");
        let (older, smallest) = (number(&told["older"]), number(&told["smallest"]));
        assert!(!older.is_empty() && older < smallest, "{told}");
        let words = format!("; some older drivers from {} also start them", told["older"].as_str().unwrap_or_default());
        assert!(text.contains(&words), "{text}");
        // The reported driver starts the files.
        let (there, _) = on(told["older"].as_str().unwrap_or_default(), "new.Dockerfile");
        assert_eq!(there["enough"], true, "{there}");
    }
    for driver in ["470.57.02", "580.95.05"] {
        let (told, text) = on(driver, "old.image.toml");
        assert!(told["older"].is_null() && told["smallest"].is_string(), "{told}");
        assert!(!text.contains("some older drivers"), "{text}");
    }
}

/// The files of a pool are a value like any other: a pool without files is not reported.
#[test]
fn what_if_skips_a_pool_of_other_files() {
    let repository = repository();
    repository.file("a/Dockerfile", "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n");
    for (files, runs) in [("[\"a/**\"]", true), ("a/*", true), ("[\"b/**\", \"c/**\"]", false)] {
        let done = repository.run(&["fleet", "what-if", "a/Dockerfile", "--set", &format!("t4.dockerfiles={files}")]);
        assert_eq!(out(&done).contains("pool `t4`: "), runs, "{files}: {}{}", out(&done), err(&done));
    }
}
