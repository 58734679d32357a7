//! Good fleets read back as written; bad ones say what and where.

use super::*;
use crate::cuda::DriverVersion;
use crate::fleet::{DriverSpec, PoolEntry, PoolField, ToolkitOptions};

const FULL: &str = r#"
[[pool]]
name = "train-a100"
gpu = ["NVIDIA A100-PCIE-40GB", { name = "Own", count = 4, compute_capability = "9.0", brand = "Tesla", mig = "1g.5gb" }]
driver = ["460.32.03", "535", ">=535.161,<536"]
platform = "linux/amd64"
launch = "docker-gpus"
toolkit = "1.14.3"
libnvidia_container = "1.14.3"
engine = "docker 28.2"
mode = "legacy"
device_list_strategy = "envvar"
env = { NVIDIA_DISABLE_REQUIRE = "1" }
nodes = 32
compute_capability = "8.0"
brand = "tesla"
driver_cuda = "11.2"
wsl = false
dockerfiles = ["train/**"]
images = ["registry.example.com/train/*"]
[pool.host]
disable-require = false
nvidia-container-cli.environment = ["A=1", "B=2"]
"#;

fn look_up_gpu(name: &str) -> GpuNameLookup {
    if name.starts_with("NVIDIA") {
        GpuNameLookup::Known
    } else {
        GpuNameLookup::Unknown { suggestions: vec!["NVIDIA T4".to_owned()] }
    }
}

fn parse_fleet(text: &str) -> Result<Fleet, FleetErrors> {
    read_fleet(SourceId(7), &SourceText::new("fleet.toml", text), &look_up_gpu)
}

#[test]
fn every_key_reads_back_with_its_place() {
    let fleet = parse_fleet(FULL).expect("good fleet");
    let pool = &fleet.pools[0];
    let version = |text: &str| text.parse::<DriverVersion>().expect("version");
    assert_eq!((fleet.source, fleet.built_in, fleet.name.as_str()), (SourceId(7), false, "fleet.toml"));
    assert_eq!(&FULL[pool.name.span.start..pool.name.span.end], "\"train-a100\"");
    assert_eq!(pool.gpu.len(), 2);
    assert_eq!(pool.gpu[1].value.brand.as_deref(), Some("tesla"));
    assert!(pool.gpu[1].value.mig.is_some() && pool.gpu[1].value.count == Some(4));
    let drivers: Vec<_> = pool.driver.iter().map(|driver| driver.value.clone()).collect();
    let range = DriverSpec::Range { from: Some(version("535.161")), before: Some(version("536")) };
    assert_eq!(drivers, [DriverSpec::Exact(version("460.32.03")), DriverSpec::Branch(535), range]);
    assert_eq!(pool.launch.as_ref().map(|launch| launch.value), Some(Launch::DockerGpus));
    assert_eq!(pool.mode.as_ref().map(|mode| mode.value), Some(Mode::Legacy));
    assert_eq!(pool.nodes.as_ref().map(|nodes| nodes.value), Some(32));
    assert_eq!(pool.env[0].1.value, "1");
    let host: Vec<_> = pool.host.iter().map(|(name, value)| (name.as_str(), value.value.as_str())).collect();
    assert_eq!(host, [("disable-require", "false"), ("nvidia-container-cli.environment", "A=1,B=2")]);
    assert!(pool.runs_dockerfile("train/a/Dockerfile") && !pool.runs_dockerfile("serve/Dockerfile"));
    assert!(pool.runs_image("registry.example.com/train/a:1") && !pool.runs_image("ubuntu"));
}

#[test]
fn a_name_is_enough() {
    let fleet = parse_fleet("[[pool]]\nname = \"a\"").expect("good fleet");
    assert!(fleet.pools[0].runs_dockerfile("x") && fleet.pools[0].gpu.is_empty());
}

#[test]
fn an_unknown_engine_that_is_not_misspelt_is_accepted() {
    for engine in ["docker", "docker 28.2", "podman 5.2", "containerd 1.7.27", "cri-o 1.31", "finch 1.4", "kata 3"] {
        let fleet = parse_fleet(&format!("[[pool]]\nname = \"a\"\nengine = \"{engine}\"")).expect(engine);
        assert_eq!(fleet.pools[0].engine.as_ref().map(|one| one.value.as_str()), Some(engine));
    }
}

#[test]
fn the_reference_fleet_reads() {
    let fleet = built_in_fleet(SourceId(0));
    let names: Vec<_> = fleet.pools.iter().map(|pool| pool.name.value.as_str()).collect();
    assert_eq!(names, ["t4", "a10g", "l4", "a100", "h100", "b200", "workstation"]);
    assert!(fleet.built_in);
}

/// Returns the errors of a bad file, with their positions.
fn error_texts(text: &str) -> String {
    let source = SourceText::new("fleet.toml", text);
    let errors = read_fleet(SourceId(0), &source, &look_up_gpu).expect_err(text);
    let found: Vec<String> = errors
        .all()
        .iter()
        .map(|problem| {
            let help = problem.help.as_deref().filter(|help| *help != EXAMPLE);
            let help = help.map(|help| format!(" | {help}")).unwrap_or_default();
            format!("{} {}{help}", source.position(problem.span.start), problem.message)
        })
        .collect();
    found.join("; ")
}

#[test]
fn invalid_file_is_reported_with_its_line() {
    for (text, expected) in [
        ("", "1:1 the fleet has no pool"),
        ("pool = []", "1:8 the fleet has no pool"),
        ("[pool]\nname = \"a\"", "1:1 `pool` is not a list of tables | write `[[pool]]`, with two square brackets"),
        ("[[pool]]\nnodes = 1", "1:1 the pool has no `name` | add `name = \"...\"`"),
        ("[[pool]]\nname = 1", "2:8 `name` is an integer, expected a string | put it in quotes: \"1\""),
        ("[[pools]]\nname = \"a\"", "1:1 the fleet has no pool; 1:3 unknown key `pools` | did you mean `pool`?"),
        ("[[pool]]\nname = \"a\"\ndrivr = \"535\"", "3:1 unknown key `drivr` | did you mean `driver`?"),
        (
            "[[pool]]\nname = \"a\"\n[[pool]]\nname = \"a\"",
            "4:8 duplicate pool name `a` | give every pool a unique name",
        ),
        (
            "[[pool]]\nname = \"a\"\nlaunch = \"kubernets\"",
            "3:10 unknown launch `kubernets` | did you mean `kubernetes`?",
        ),
        (
            "[[pool]]\nname = \"a\"\ngpu = { name = \"NVIDIA A100-PCIE-40GB\", mig = \"9z.1\" }",
            "3:47 `9z.1` is not a MIG profile | use a profile from `nvidia-smi mig -lgip`, such as 1g.5gb, 1g.10gb+me \
             or 1c.3g.20gb",
        ),
        ("[[pool]]\nname = \"a\"\ngpu = []", "3:1 `gpu` is empty; add a GPU or remove the key"),
        ("[[pool]]\nname = \"a\"\ndriver = []", "3:1 `driver` is empty; add a driver or remove the key"),
        ("[[pool]]\nname = \"a\"\nlaunch = []", "3:10 `launch` is a list, expected a string"),
        (
            "[[pool]]\nname = \"a\"\nimages = []",
            "3:1 an empty list matches nothing; add a pattern, or remove the key to match everything",
        ),
        (
            "[[pool]]\nname = \"a\"\nengine = \"dockr 28\"",
            "3:10 unknown engine `dockr`: did you mean `docker`? | such as \"docker 28.2\"",
        ),
        (
            "[[pool]]\nname = \"a\"\nengine = \"Docker 28\"",
            "3:10 unknown engine `Docker`: did you mean `docker`? | such as \"docker 28.2\"",
        ),
        ("[[pool]]\nname = \"a\"\nmode = \"zzz\"", "3:8 unknown mode `zzz` | one of legacy, jit-cdi, cdi, csv, none"),
        (
            "[[pool]]\nname = \"a\"\ngpu = \"T4\"",
            "3:7 unknown GPU `T4` | did you mean `NVIDIA T4`? for a GPU that is not in the compatibility database, add `compute_capability = \"X.Y\"`",
        ),
        (
            "[[pool]]\nname = \"a\"\ndriver = 535",
            "3:10 `driver` is an integer, expected a string | put it in quotes: \"535\"",
        ),
        (
            "[[pool]]\nname = \"a\"\ndriver = \">=536,<535\"",
            "3:10 `>=536,<535` matches no driver | use a version (\"535.161.08\"), a branch (\"535\") or a range (\">=535.161,<536\")",
        ),
        (
            "[[pool]]\nname = \"a\"\ntoolkit = \"v1.2\"",
            "3:11 `v1.2` is not a version; did you mean `1.2`? | use numbers with dots, such as 1.17.8",
        ),
        (
            "[[pool]]\nname = \"a\"\ncompute_capability = 8.0",
            "3:22 `compute_capability` is a float, expected a string | put it in quotes: \"8.0\"",
        ),
        (
            "[[pool]]\nname = \"a\"\nplatform = \"linux/amd46\"",
            "3:12 unknown platform `linux/amd46` | did you mean `linux/amd64`?",
        ),
        ("[[pool]]\nname = \"a\"\nbrand = \"gforce\"", "3:9 unknown brand `gforce` | did you mean `geforce`?"),
        ("[[pool]]\nname = \"a\"\nnodes = -1", "3:9 `nodes` is an integer, expected a whole number from 0"),
        ("[[pool]]\nname = \"a\"\nwsl = 1", "3:7 `wsl` is an integer, expected true or false"),
        (
            "[[pool]]\nname = \"a\"\nimages = [\"ok\", \"a[\"]",
            "3:17 `a[` is not a pattern: unclosed character class; missing ']'",
        ),
        (
            "[[pool]]\nname = \"a\"\nlunch = 1\ntoolkit = \"x\"",
            "3:1 unknown key `lunch` | did you mean `launch`?; 4:11 `x` is not a version | use numbers with dots, such as 1.17.8",
        ),
    ] {
        assert_eq!(error_texts(text), expected, "{text}");
    }
}

#[test]
fn options_have_the_names_and_types_of_the_toolkits_configuration() {
    let with = |options: &str| format!("[[pool]]\nname = \"a\"\n[pool.host]\n{options}");
    for good in [
        "disable-require = true",
        "mode = \"legacy\"",
        "nvidia-container-runtime.mode = \"auto\"",
        "[pool.host.nvidia-container-runtime.modes.legacy]\ncuda-compat-mode = \"mount\"",
        "features.disable-cuda-compat-lib-hook = true",
        "supported-driver-capabilities = \"compute, utility\"",
        "nvidia-container-runtime.modes.cdi.spec-dirs = [\"/etc/cdi\"]",
    ] {
        assert!(parse_fleet(&with(good)).is_ok(), "{good}");
    }
    for (options, expected) in [
        ("disable-requires = true", "4:1 unknown option `disable-requires` | did you mean `disable-require`?"),
        (
            "cuda-compat-mode = \"mount\"",
            "4:1 unknown option `cuda-compat-mode` | did you mean `nvidia-container-runtime.modes.legacy.cuda-compat-mode`?",
        ),
        (
            "features.disable-cuda-compat-hook = true",
            "4:10 unknown option `features.disable-cuda-compat-hook` | did you mean `features.disable-cuda-compat-lib-hook`?",
        ),
        ("x = 1", "4:1 unknown option `x` | use a name from the container toolkit's config.toml"),
        ("features = true", "4:1 unknown option `features` | use a name from the container toolkit's config.toml"),
        ("disable-require = \"true\"", "4:19 `disable-require` is a string, expected true or false"),
        ("swarm-resource = true", "4:18 `swarm-resource` is a boolean, expected a string | put it in quotes: \"true\""),
        ("mode = \"jitcdi\"", "4:8 unknown mode `jitcdi` | did you mean `jit-cdi`?"),
        (
            "nvidia-container-runtime.runtimes = \"runc\"",
            "4:37 `nvidia-container-runtime.runtimes` is a string, expected a list of strings",
        ),
        (
            "supported-driver-capabilities = \"compute,utilty\"",
            "4:33 unknown driver capability `utilty` | did you mean `utility`?",
        ),
    ] {
        assert_eq!(error_texts(&with(options)), expected, "{options}");
    }
}

#[test]
fn a_pool_that_may_be_anything_is_refused_with_its_place() {
    let drivers: Vec<String> = (0..600).map(|at| format!("\"535.{at}.01\"")).collect();
    let wide = |launch: &str| {
        let drivers = drivers.join(", ");
        format!("[[pool]]\nname = \"wide\"\ngpu = [\"NVIDIA A\", \"NVIDIA B\"]\ndriver = [{drivers}]\n{launch}")
    };
    let check = |text: &str| {
        let source = SourceText::new("fleet.toml", text);
        let fleet = parse_fleet(text).expect("good fleet");
        let all: usize = fleet.pools.iter().map(|pool| pool.hosts(Knowledge::built_in(), None).len()).sum();
        (all, check_host_counts(&fleet, &source, Knowledge::built_in()))
    };
    let (count, result) = check(&wide("launch = \"docker-gpus\"\ntoolkit = \"1.17.8\""));
    assert!(result.is_ok() && count == 1200, "{count}");
    let (count, result) = check(&wide(""));
    let errors = result.expect_err("too wide");
    assert_eq!((count, errors.all().len(), errors.all()[0].span.start), (MAX_HOSTS, 1, 16));
    assert!(errors.all()[0].message.contains("the nodes of pool `wide` have"), "{}", errors.all()[0].message);
}

#[test]
fn a_mode_that_the_toolkit_lacks_is_refused_at_both_places() {
    let check = |rest: &str| {
        let text = format!("[[pool]]\nname = \"a\"\n{rest}");
        let source = SourceText::new("fleet.toml", text.as_str());
        let fleet = parse_fleet(&text).expect("good fleet");
        check_toolkit_modes(&fleet, &source, Knowledge::built_in()).map_err(|errors| {
            let problem = errors.all()[0].clone();
            let (span, message) = problem.conflict.expect("two places");
            let at = |span: Span| source.position(span.start).to_string();
            format!("{} {}; {} {message}", at(problem.span), problem.message, at(span))
        })
    };
    let expected =
        "3:8 the mode `jit-cdi` requires container toolkit 1.18 or newer; 4:11 toolkit 1.17.8 does not support it";
    assert_eq!(check("mode = \"jit-cdi\"\ntoolkit = \"1.17.8\""), Err(expected.to_owned()));
    for good in [
        "mode = \"jit-cdi\"\ntoolkit = \"1.18.0\"",
        "mode = \"jit-cdi\"",
        "mode = \"legacy\"\ntoolkit = \"1.3.0\"",
        "mode = \"cdi\"\ntoolkit = \"1.17.8\"",
        "toolkit = \"1.17.8\"",
    ] {
        assert_eq!(check(good), Ok(()), "{good}");
    }
}

#[test]
fn a_gpu_that_cannot_be_divided_has_no_mig() {
    let check = |gpu: &str| {
        let text = format!("[[pool]]\nname = \"a\"\n{gpu}");
        let source = SourceText::new("fleet.toml", text.as_str());
        let fleet = read_fleet(SourceId(7), &source, &|_| GpuNameLookup::Known).expect("good fleet");
        check_mig_support(&fleet, &source, Knowledge::built_in()).map_err(|errors| {
            let problem = errors.all()[0].clone();
            format!("{} {}", source.position(problem.span.start), problem.message)
        })
    };
    for (gpu, expected) in [
        ("gpu = { name = \"T4\", mig = true }", "3:16 `T4` does not support MIG"),
        ("gpu = [\"A100\", { name = \"L40S\", mig = \"1g.10gb\" }]", "3:25 `L40S` does not support MIG"),
        ("gpu = { name = \"Tesla V100-SXM2-16GB\", mig = true }", "3:16 `Tesla V100-SXM2-16GB` does not support MIG"),
        ("gpu = { name = \"RTX 5090\", mig = true }", "3:16 `RTX 5090` does not support MIG"),
        ("gpu = { name = \"Ours\", mig = true, compute_capability = \"8.6\" }", "3:16 `Ours` does not support MIG"),
        ("gpu = { name = \"Ours\", mig = true }\ncompute_capability = \"7.0\"", "3:16 `Ours` does not support MIG"),
    ] {
        assert_eq!(check(gpu), Err(expected.to_owned()), "{gpu}");
    }
    for good in [
        "gpu = { name = \"A100\", mig = \"1g.10gb\" }",
        "gpu = { name = \"A30\", mig = true }",
        "gpu = { name = \"H100\", mig = true }",
        "gpu = { name = \"B200\", mig = true }",
        "gpu = { name = \"RTX PRO 6000 Blackwell Server Edition\", mig = \"1g.24gb\" }",
        "gpu = { name = \"GRID A100-40C\", mig = true }",
        "gpu = { name = \"T4\", mig = false }",
        "gpu = \"T4\"",
        "gpu = { name = \"Ours\", mig = true }",
        "gpu = { name = \"Ours\", mig = true, compute_capability = \"9.0\" }",
        "gpu = { name = \"Ours\", mig = true, compute_capability = \"13.0\" }",
    ] {
        assert_eq!(check(good), Ok(()), "{good}");
    }
}

#[test]
fn field_error_names_its_line_and_value() {
    let fleet = parse_fleet(FULL).expect("good fleet");
    let pool = &fleet.pools[0];
    for (field, expected) in [
        (PoolField::Launch, Some(("\"docker-gpus\"", "docker-gpus"))),
        (PoolField::Toolkit, Some(("\"1.14.3\"", "1.14.3"))),
        (PoolField::Driver, Some(("\"460.32.03\"", "460.32.03 or 535 or >=535.161,<536"))),
        (PoolField::Wsl, Some(("false", "false"))),
        (PoolField::Strategy, Some(("\"envvar\"", "envvar"))),
        (PoolField::Env, Some(("\"1\"", "NVIDIA_DISABLE_REQUIRE = 1"))),
        (PoolField::Runtime, None),
        (PoolField::Modeset, None),
    ] {
        let written = pool.field_span(field).map(|span| &FULL[span.start..span.end]);
        let text = pool.field_text(field);
        assert_eq!(written.zip(text.as_deref()), expected, "{}", field.name());
    }
}

/// The place of an entry is its own, also where it is not the first of its table.
#[test]
fn table_entry_error_names_its_line() {
    let text =
        "[[pool]]\nname = \"p\"\nenv = { B = \"b\", A = \"a\" }\n[pool.host]\ndisable-require = true\nmode = \"cdi\"\n";
    let pool = &parse_fleet(text).expect("good fleet").pools[0];
    let written = |entry: PoolEntry| {
        entry.declaration_in(pool).map(|(name, value)| (name, &text[value.span.start..value.span.end]))
    };
    for (entry, expected) in [
        (PoolEntry::Variable(0), Some(("A", "\"a\""))),
        (PoolEntry::Variable(1), Some(("B", "\"b\""))),
        (PoolEntry::Variable(2), None),
        (PoolEntry::Option(ToolkitOptions::DISABLE_REQUIRE), Some(("disable-require", "true"))),
        (PoolEntry::Option(ToolkitOptions::MODE), Some(("mode", "\"cdi\""))),
        (PoolEntry::Option(ToolkitOptions::ACCEPT_ENVVAR), None),
    ] {
        assert_eq!(written(entry), expected, "{entry:?}");
    }
    let keys: Vec<String> = pool.table_entries().map(|(key, _)| key).collect();
    assert_eq!(keys, ["pool.env.B", "pool.env.A", "pool.host.disable-require", "pool.host.mode"]);
}

#[test]
fn a_syntax_error_is_one_error_and_nothing_panics() {
    let errors = parse_fleet("[[pool]\nname").expect_err("syntax");
    assert_eq!(errors.all().len(), 1);
    for end in 0..FULL.len() {
        let _ = parse_fleet(&FULL[..end]);
    }
}

fn rendered_errors(text: &str) -> String {
    let errors = parse_fleet(text).expect_err("errors");
    let mut shown = String::new();
    let theme = miette::GraphicalTheme::none();
    let handler = miette::GraphicalReportHandler::new_themed(theme).with_width(200);
    handler.render_report(&mut shown, errors.as_ref()).expect("renders");
    shown
}

#[test]
fn error_without_a_line_describes_the_file() {
    for text in ["", "\n", "  \n\t\n"] {
        assert!(
            rendered_errors(text).contains("1 error in the fleet file `fleet.toml`: the fleet has no pool"),
            "{text:?}"
        );
    }
    let comment = rendered_errors("# nothing yet\n");
    assert!(comment.contains("the fleet has no pool") && !comment.contains("`fleet.toml`:"), "{comment}");
}

#[test]
fn each_of_several_errors_has_its_own_help() {
    let two = rendered_errors("[[pool]]\nname = \"a\"\nlaunch = \"kubernets\"\ntoolkitt = \"1.17.8\"\n");
    assert!(two.contains("unknown launch `kubernets`; did you mean `kubernetes`?"), "{two}");
    assert!(two.contains("unknown key `toolkitt`; did you mean `toolkit`?"), "{two}");
    assert!(!two.contains("help:"), "{two}");
    let one = rendered_errors("[[pool]]\nname = \"a\"\nlaunch = \"kubernets\"\n");
    assert!(one.contains("help: did you mean `kubernetes`?") && !one.contains("`kubernets`;"), "{one}");
}

#[test]
fn errors_show_in_the_file() {
    let errors = parse_fleet("[[pool]]\nname = \"a\"\nlaunch = \"kubernets\"").expect_err("bad word");
    let mut shown = String::new();
    let theme = miette::GraphicalTheme::none();
    miette::GraphicalReportHandler::new_themed(theme).render_report(&mut shown, errors.as_ref()).expect("renders");
    assert!(shown.contains("1 error in the fleet file `fleet.toml`"), "{shown}");
    assert!(shown.contains("[fleet.toml:3:10]") && shown.contains("unknown launch `kubernets`"), "{shown}");
    assert!(shown.contains("did you mean `kubernetes`?"), "{shown}");
}
