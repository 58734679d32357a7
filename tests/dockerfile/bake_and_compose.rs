//! Bake and compose files: each build a check of its own, with its arguments.

use imagelint::dockerfile::builds::{
    BuildsError, DockerfileSource, ImageBuild, parse_environment_file, read_bake_file, read_bake_files,
    read_compose_file, read_compose_files,
};
use test_repository::{TestRepository, code, out};

use crate::support::test_repository;

const DOCKERFILE: &str = "ARG CUDA=12.4.1\nARG FLAVOUR=base\nFROM nvidia/cuda:${CUDA}-${FLAVOUR}-ubuntu22.04 AS run\n\
                          FROM scratch AS last\n";

/// Name, Dockerfile, target, arguments and platforms of each build, as one line.
fn lines(builds: &[ImageBuild]) -> Vec<String> {
    let line = |build: &ImageBuild| {
        let args: Vec<String> =
            build.args.iter().map(|(name, value)| format!("{name}={}", value.as_deref().unwrap_or("?"))).collect();
        let recipe = match &build.recipe {
            DockerfileSource::Path(path) => format!("{}/{path}", build.context),
            DockerfileSource::Inline(text) => format!("{text:?}"),
            DockerfileSource::Unknown(why) => format!("({why})"),
        };
        format!(
            "{} {recipe} {} {} {}",
            build.name,
            build.target.as_deref().unwrap_or("-"),
            args.join(","),
            build.platforms.join(",")
        )
    };
    builds.iter().map(line).collect()
}

#[test]
fn targets_inherit_and_variables_have_their_defaults() {
    let text = r#"
variable "CUDA" { default = "12.4.1" }
variable "TAG" { default = "v-${CUDA}" }
variable "NONE" {}
function "f" {
  params = [x]
  result = x
}
group "default" { targets = ["train", "serve", "absent"] }
target "_common" {
  context = "docker"
  args = { CUDA = CUDA, A = "1", B = "2" }
  platforms = ["linux/amd64"]
}
target "train" {
  inherits = ["_common"]
  dockerfile = "Dockerfile.train"
  target = "run"
  args = { B = upper("x-${TAG}"), C = NONE, D = f("x"), E = null, F = CUDA == "12.4.1" ? 1 : 2 }
}
target "serve" {
  dockerfile-inline = "FROM a"
  args = { L = join("-", concat(["a"], ["b"])), R = replace(TAG, ".", "_") }
}
"#;
    let builds = read_bake_file("docker-bake.hcl", text).expect("builds");
    assert_eq!(
        lines(&builds),
        [
            "serve \"FROM a\" - L=a-b,R=v-12_4_1 ",
            "train docker/Dockerfile.train run A=1,B=X-V-12.4.1,C=?,CUDA=12.4.1,D=x,F=1 linux/amd64"
        ]
    );
}

#[test]
fn json_bake_file_equals_hcl_and_a_matrix_creates_targets() {
    let text = r#"{"variable": {"V": {"default": "1"}},
        "target": {"a": {"args": {"X": "${V}.2", "N": 3}, "matrix": {"py": ["10", "11"]}, "name": "a-${py}", "target": "t${py}"}}}"#;
    let builds = read_bake_file("docker-bake.json", text).expect("builds");
    assert_eq!(lines(&builds), ["a-10 ./Dockerfile t10 N=3,X=1.2 ", "a-11 ./Dockerfile t11 N=3,X=1.2 "]);
}

#[test]
fn compose_services_with_build_become_builds() {
    let text = r#"
x-common: &common
  context: .
  args: {CUDA: "12.4.1"}
services:
  db: {image: postgres}
  short: {build: ./app}
  list:
    build:
      context: app
      dockerfile: gpu.Dockerfile
      target: run
      args:
        - CUDA=${CUDA_VERSION:-12.8.0}
        - FROM_ENV
        - BARE=${NOWHERE}
        - PORT=1:2
    platform: linux/arm64
  merged:
    build:
      <<: *common
      dockerfile_inline: FROM a
      platforms: [linux/amd64, linux/arm64]
"#;
    let builds = read_compose_file(text, &parse_environment_file("FROM_ENV=yes\n"), &|_| None).expect("builds");
    assert_eq!(
        lines(&builds),
        [
            "list app/gpu.Dockerfile run BARE=?,CUDA=12.8.0,FROM_ENV=yes,PORT=1:2 linux/arm64",
            "merged \"FROM a\" - CUDA=12.4.1 linux/amd64,linux/arm64",
            "short ./app/Dockerfile -  "
        ]
    );
}

#[test]
fn functions_groups_of_groups_and_matrices_are_followed() {
    let text = r#"
variable "CUDA" { default = "12.4.1" }
variable "FLAVOURS" { default = ["base", "runtime"] }
variable "UNSET" { default = null }
group "default" { targets = ["all"] }
group "all" { targets = ["image", "one"] }
target "_base" { args = { A = "1", B = "below" } }
target "_more" { inherits = ["_base"], args = { B = "more" } }
target "image" {
  inherits = ["_more"]
  name = "image-${flavour}"
  matrix = { flavour = FLAVOURS }
  args = { FLAVOUR = flavour, MINOR = join(".", [element(split(".", CUDA), 0), element(split(".", CUDA), 1)]) }
}
target "one" {
  args = {
    N = add(length(FLAVOURS), 1)
    C = contains(FLAVOURS, "base") ? trimspace(" yes ") : "no"
    D = trim("--x--", "-")
    E = coalesce(UNSET, CUDA)
    F = element([], 0)
    G = multiply(9000000000000000000, 9)
  }
}
target "aside" {}
"#;
    let text = text.replace("[\"_base\"], args", "[\"_base\"]\n args");
    let text = text.replace(
        "target \"_more\" { inherits = [\"_base\"]\n args = { B = \"more\" } }",
        "target \"_more\" {\n inherits = [\"_base\"]\n args = { B = \"more\" }\n}",
    );
    let builds = read_bake_file("docker-bake.hcl", &text).expect("builds");
    assert_eq!(
        lines(&builds),
        [
            "image-base ./Dockerfile - A=1,B=more,FLAVOUR=base,MINOR=12.4 ",
            "image-runtime ./Dockerfile - A=1,B=more,FLAVOUR=runtime,MINOR=12.4 ",
            "one ./Dockerfile - C=yes,D=x,E=12.4.1,F=?,G=?,N=3 ",
        ]
    );
}

#[test]
fn functions_of_the_file_are_called() {
    let text = r#"
variable "CUDA" { default = "12.4.1" }
variable "MINOR" { default = minor(CUDA) }
function "minor" {
  params = [version]
  result = join(".", [element(split(".", version), 0), element(split(".", version), 1)])
}
function "tag" {
  params = [name]
  variadic_params = parts
  result = "${name}:${join("-", parts)}"
}
function "round" {
  params = [x]
  result = round(x)
}
function "broken" {}
target "one" {
  args = {
    A = minor("11.8.0")
    B = MINOR
    C = tag("nvidia/cuda", CUDA, "base")
    D = "cu${replace(minor(CUDA), ".", "")}"
    E = CUDA == "12.4.1" ? tag("x", minor(CUDA)) : "no"
    F = round("x")
    G = minor()
    H = minor("1.2", "3")
    I = broken("x")
    J = nowhere("x")
  }
}
"#;
    let builds = read_bake_file("docker-bake.hcl", text).expect("builds");
    let told = "A=11.8,B=12.4,C=nvidia/cuda:12.4.1-base,D=cu124,E=x:12.4,F=?,G=?,H=?,I=?,J=?";
    assert_eq!(lines(&builds), [format!("one ./Dockerfile - {told} ")]);
    let json = r#"{"function": {"twice": {"params": ["x"], "result": "${x}${x}"}},
                   "target": {"one": {"args": {"A": "${twice(1)}"}}}}"#;
    assert_eq!(lines(&read_bake_file("docker-bake.json", json).expect("builds")), ["one ./Dockerfile - A=11 "]);
    // One that doubles its calls at every step ends.
    let call = |at: usize| {
        let next = format!("${{f{}(x)}}", at + 1).repeat(3);
        format!("function \"f{at}\" {{\n params = [x]\n result = \"{next}\"\n}}\n")
    };
    let many = (0..20).map(call).collect::<Vec<_>>().concat();
    let built =
        read_bake_file("b.hcl", &format!("{many}target \"one\" {{\n args = {{ A = f0(1) }}\n}}\n")).expect("builds");
    assert_eq!(lines(&built), ["one ./Dockerfile - A=? "]);
}

#[test]
fn included_files_have_variables_of_their_own() {
    let text = "include:\n  - more/a.yaml\n  - path: b.yaml\n    env_file: [x.env, y.env]\n";
    let service = |name: &str| format!("services: {{{name}: {{build: {{context: ., args: {{A: $A, B: $B}}}}}}}}\n");
    let files = [
        ("more/a.yaml", format!("include: [deep/c.yaml]\n{}", service("a"))),
        ("more/.env", "A=a\nB=a\n".to_owned()),
        ("more/deep/c.yaml", service("c")),
        ("more/deep/.env", "B=c\n".to_owned()),
        ("b.yaml", service("b")),
        (".env", "B=none\n".to_owned()),
        ("x.env", "A=x\nB=x\n".to_owned()),
        ("y.env", "B=y\n".to_owned()),
    ];
    let open = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.clone());
    let said = |own: &str| lines(&read_compose_file(text, &parse_environment_file(own), &open).expect("builds"));
    let expected = |b: &str, a: &str, c: &str| {
        vec![
            format!("b ./Dockerfile - {b} "),
            format!("a more/./Dockerfile - {a} "),
            format!("c more/deep/./Dockerfile - {c} "),
        ]
    };
    assert_eq!(said(""), expected("A=x,B=y", "A=a,B=a", "A=a,B=a"));
    assert_eq!(said("B=own"), expected("A=x,B=own", "A=a,B=own", "A=a,B=own"));
}

#[test]
fn a_compose_service_inherits_from_the_extended_service() {
    let text = r#"
services:
  base:
    profiles: [never]
    platform: linux/amd64
    build: {context: app, dockerfile: a.Dockerfile, target: run, args: {A: "1", B: "2"}}
  same: {extends: base}
  changed:
    extends: {service: base}
    build: {dockerfile_inline: FROM a, args: [B=3, C]}
  moved: {extends: {service: base}, build: ./other}
  far: {extends: {file: more/far.yaml, service: one}}
  gone: {extends: {file: none.yaml, service: one}}
  gone-in-part: {extends: {file: none.yaml, service: one}, build: {context: app}}
  pulled: {extends: {file: none.yaml, service: one}, image: postgres}
  circle: {extends: circle, build: {context: x}}
"#;
    let far = "services: {one: {extends: two, build: {args: {X: y, Y: true, N: no}}}, two: {build: {context: ctx, target: t}}}";
    let open = |path: &str| (path == "more/far.yaml").then(|| far.to_owned());
    let builds = read_compose_file(text, &parse_environment_file("C=4\n"), &open).expect("builds");
    assert_eq!(
        lines(&builds),
        [
            "base app/a.Dockerfile run A=1,B=2 linux/amd64",
            "changed \"FROM a\" run A=1,B=3,C=4 linux/amd64",
            "circle x/Dockerfile -  ",
            "far more/ctx/Dockerfile t N=no,X=y,Y=true ",
            "gone (service `one` of `none.yaml` could not be read) -  ",
            "gone-in-part app/Dockerfile -  ",
            "moved ./other/a.Dockerfile run A=1,B=2 linux/amd64",
            "same app/a.Dockerfile run A=1,B=2 linux/amd64",
        ]
    );
    let noted: Vec<&str> =
        builds.iter().filter(|build| !build.notes.is_empty()).map(|build| build.name.as_str()).collect();
    assert_eq!(noted, ["circle", "gone-in-part"]);
}

#[test]
fn contexts_replacing_a_base_image_are_read() {
    let contexts = |builds: &[ImageBuild]| -> Vec<String> {
        let one = |build: &ImageBuild| {
            let all = build.contexts.iter().map(|(name, value)| format!("{name}={}", value.as_deref().unwrap_or("?")));
            format!("{} {}", build.name, all.collect::<Vec<_>>().join(","))
        };
        builds.iter().map(one).collect()
    };
    let text = r#"
variable "TAG" { default = "12.8.0" }
target "low" { contexts = { base = "docker-image://a:${TAG}", src = "../src" } }
target "top" {
  inherits = ["low"]
  contexts = { src = "target:low", odd = nothing }
}
"#;
    let builds = read_bake_file("docker-bake.hcl", text).expect("builds");
    assert_eq!(
        contexts(&builds),
        ["top base=docker-image://a:12.8.0,odd=?,src=target:low", "low base=docker-image://a:12.8.0,src=../src"]
    );
    let text = "services:\n  a:\n    build:\n      context: .\n      additional_contexts: {base: 'docker-image://a:${TAG}', odd: '${NO}'}\n\
                \x20 b:\n    extends: a\n    build: {additional_contexts: [src=../src, 'odd=service:a']}\n";
    let builds = read_compose_file(text, &parse_environment_file("TAG=1\n"), &|_| None).expect("builds");
    assert_eq!(
        contexts(&builds),
        ["a base=docker-image://a:1,odd=?", "b base=docker-image://a:1,odd=service:a,src=../src"]
    );
    let repository = TestRepository::new();
    repository.file("Dockerfile", "FROM Base AS one\nFROM nvidia/cuda:12.4.1-base-ubuntu22.04 AS two\nFROM two\n");
    for (contexts, target, expected) in [
        (
            "base = \"docker-image://nvidia/cuda:12.8.0-base-ubuntu22.04\"",
            "one",
            "\"nvidia/cuda:12.8.0-base-ubuntu22.04\"",
        ),
        ("\"nvidia/cuda:12.4.1-base-ubuntu22.04\" = \"docker-image://ubuntu:22.04\"", "two", "\"ubuntu:22.04\""),
        ("two = \"docker-image://ubuntu:22.04\"", "2", "\"ubuntu:22.04\""),
        ("other = \"docker-image://ubuntu:22.04\"", "2", "\"nvidia/cuda:12.4.1-base-ubuntu22.04\""),
        ("two = \"target:x\"", "2", "null"),
        ("two = nothing", "2", "null"),
    ] {
        repository
            .file("x.hcl", &format!("target \"a\" {{\n target = \"{target}\"\n contexts = {{ {contexts} }}\n}}\n"));
        let report = repository.json(&["check", "--verbose", "--bake", "x.hcl"]);
        assert_eq!(report["subjects"][0]["description"]["base"].to_string(), expected, "{contexts}");
    }
}

#[test]
fn included_compose_services_are_built_in_their_directories() {
    let text =
        "include:\n  - more/a.yaml\n  - path: [b.yaml, none.yaml]\n    env_file: x.env\nservices: {own: {build: .}}\n";
    let open = |path: &str| {
        let files = [
            ("more/a.yaml", "include: [deep/c.yaml]\nservices: {a: {build: ctx}, gone: {image: x}}"),
            ("more/deep/c.yaml", "services: {c: {build: {context: ., args: [T=1]}}}"),
            ("b.yaml", "include: [b.yaml]\nservices: {b: {extends: {file: more/a.yaml, service: a}}}"),
        ];
        files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
    };
    assert_eq!(
        lines(&read_compose_file(text, &parse_environment_file(""), &open).expect("builds")),
        [
            "own ./Dockerfile -  ",
            "b more/ctx/Dockerfile -  ",
            "a more/ctx/Dockerfile -  ",
            "c more/deep/./Dockerfile - T=1 ",
            "none.yaml (service `none.yaml` of `none.yaml` could not be read) -  ",
        ]
    );
    let only = read_compose_file("include: [b.yaml]\n", &parse_environment_file(""), &open).expect("builds");
    assert_eq!(lines(&only), ["b more/ctx/Dockerfile -  "]);
    assert!(read_compose_file("include: 3\nservices: [x]\n", &parse_environment_file(""), &open).is_err());
}

#[test]
fn invalid_and_hostile_files_end_with_a_message() {
    let deep = |open: &str, close: &str, many: usize| format!("a = {}1{}", open.repeat(many), close.repeat(many));
    for text in [
        "target \"a\" {",
        "{{{",
        &deep("[", "]", 5_000),
        &deep("(", ")", 5_000),
        &deep("!", "", 100_000),
        &deep("- ", "", 100_000),
        &deep("true ? 1 : ", "", 20_000),
        &deep("\"${", "}\"", 5_000),
        &"%{ if true }".repeat(5_000),
        &"x".repeat(3 << 20),
    ] {
        assert!(read_bake_file("docker-bake.hcl", text).is_err(), "{}", &text[..text.len().min(40)]);
    }
    let circle = "target \"a\" { inherits = [\"b\", \"b\"] }\ntarget \"b\" { inherits = [\"a\", \"a\"] }\n";
    assert_eq!(read_bake_file("x.hcl", circle).map(|builds| builds.len()), Ok(2));
    let axis = |name: &str| format!("{name} = [{}]", (0..40).map(|at| format!("{at}")).collect::<Vec<_>>().join(","));
    let wide = format!("target \"a\" {{ matrix = {{ {}, {}, {} }} }}", axis("x"), axis("y"), axis("z"));
    assert_eq!(read_bake_file("x.hcl", &wide), Err(BuildsError::TooBig));
    let anchor = |at: usize| format!("a{at}: &a{at} [*a{0}, *a{0}, *a{0}]\n", at - 1);
    let bomb = (1..40).map(anchor).collect::<Vec<_>>().concat();
    // Written out, this one has 3 to the power of 39 elements: only a bound on them lets the test end.
    for text in ["services: 1", "a: [", "- x", "", &format!("a0: &a0 [x]\n{bomb}services: {{}}"), &"[".repeat(9_000)] {
        assert!(
            read_compose_file(text, &parse_environment_file(""), &|_| None).is_err(),
            "{}",
            &text[..text.len().min(40)]
        );
    }
}

#[test]
fn a_truncated_file_is_reported_with_its_line() {
    let repository = TestRepository::new();
    for (flag, name, text, (line, column), told) in [
        ("--bake", "a.hcl", "target \"a\" {\n  dockerfile = \n}\n", (2, 16), "invalid expression"),
        ("--bake", "a.hcl", "target \"é\" {\r\n\r\n  x = [\r\n", (3, 9), "expected `]`"),
        ("--bake", "a.json", "{\"target\": {\n \"a\": }}", (2, 7), "expected value"),
        ("--bake", "b.json", "", (1, 1), ""),
        ("--compose", "c.yaml", "services:\n  a: [\n", (2, 6), "unclosed bracket"),
    ] {
        repository.file(name, text);
        let done = repository.run(&["check", flag, name, "--format", "gitlab"]);
        let list: serde_json::Value = serde_json::from_str(&out(&done)).expect("JSON");
        let issue = &list[0];
        let description = issue["description"].as_str().expect("words");
        assert!(code(&done) == 2 && description.contains(told), "{text:?}: {description}");
        assert!(
            !description.contains("\\n") && !description.contains('\n') && !description.contains("error:"),
            "{description}"
        );
        assert_eq!((&issue["location"]["path"], &issue["location"]["lines"]["begin"]), (&name.into(), &line.into()));
        let text = out(&repository.run(&["check", flag, name, "--format", "concise"]));
        assert!(text.starts_with(&format!("{name}:{line}:{column}: error cannot-read: ")), "{text}");
    }
}

#[test]
fn two_targets_of_one_dockerfile_are_distinct_in_every_report() {
    let repository = TestRepository::empty();
    repository.file(
        "fleet.toml",
        "[[pool]]\nname = \"p\"\ngpu = \"H100\"\ndriver = \"580.95.05\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n",
    );
    repository.file("Dockerfile", "FROM nvidia/cuda:11.8.0-runtime-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install torch==1.12.1+cu113\n");
    repository.file(
        "docker-bake.hcl",
        "group \"default\" { targets = [\"a\", \"b\"] }\ntarget \"a\" { dockerfile = \"Dockerfile\" }\n\
         target \"b\" {\n dockerfile = \"Dockerfile\"\n args = { X = \"1\" }\n}\n",
    );
    for format in ["gitlab", "sarif", "rdjsonl", "checkstyle", "github"] {
        let text = out(&repository.run(&["check", "--bake", "docker-bake.hcl", "--format", format]));
        for target in [
            "docker-bake.hcl:a: torch 1.12.1 has no native code for H100",
            "docker-bake.hcl:b: torch 1.12.1 has no native code for H100",
        ] {
            assert!(text.contains(target), "{format} {target}: {text}");
        }
    }
    // Without such a file nothing but the path says it.
    let text = out(&repository.run(&["check", "Dockerfile", "--format", "gitlab"]));
    assert!(text.contains("\"description\":\"torch 1.12.1 has no native code for H100"), "{text}");
}

#[test]
fn each_target_is_a_subject_with_its_own_base() {
    let repository = TestRepository::new();
    repository.file("docker/Dockerfile", DOCKERFILE);
    repository.file(
        "docker-bake.hcl",
        "target \"a\" {\n context = \"docker\"\n target = \"run\"\n}\n\
         target \"b\" {\n context = \"docker\"\n target = \"run\"\n args = { CUDA = \"12.8.0\" }\n}\n\
         target \"c\" {\n context = \"docker\"\n target = \"run\"\n args = { CUDA = nothing }\n}\n",
    );
    let report = repository.json(&["check", "--bake", "docker-bake.hcl"]);
    let bases: Vec<String> = report["subjects"]
        .as_array()
        .expect("subjects")
        .iter()
        .map(|one| format!("{} {}", one["name"].as_str().expect("a name"), one["description"]["base"]))
        .collect();
    assert_eq!(
        bases,
        [
            "docker-bake.hcl:a \"nvidia/cuda:12.4.1-base-ubuntu22.04\"",
            "docker-bake.hcl:b \"nvidia/cuda:12.8.0-base-ubuntu22.04\"",
            "docker-bake.hcl:c null",
        ]
    );
    let report = repository.json(&["check", "--bake", "docker-bake.hcl", "--build-arg", "CUDA=11.8.0"]);
    assert_eq!(report["subjects"][1]["description"]["base"], "nvidia/cuda:11.8.0-base-ubuntu22.04");
}

#[test]
fn compose_file_reads_the_env_file_in_its_directory() {
    let repository = TestRepository::new();
    repository.file("app/Dockerfile", DOCKERFILE);
    repository.file("app/.env", "CUDA=12.8.0\n");
    repository.file(
        "app/compose.yaml",
        "services:\n  x:\n    gpus: all\n    build:\n      context: .\n      target: run\n      args: [CUDA]\n",
    );
    let report = repository.json(&["check", "--compose", "app/compose.yaml"]);
    assert_eq!(report["subjects"][0]["name"], "app/compose.yaml:x");
    assert_eq!(report["subjects"][0]["description"]["base"], "nvidia/cuda:12.8.0-base-ubuntu22.04");
}

#[test]
fn nothing_outside_of_the_repository_is_read() {
    let outer = TestRepository::new();
    outer.file("secret", "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n");
    let repository = TestRepository::new();
    let secret = outer.path("secret");
    std::os::unix::fs::symlink(&secret, repository.path("link")).expect("a link");
    let absolute = secret.display().to_string();
    let ups = format!("{}{absolute}", "../".repeat(30));
    for path in [absolute.as_str(), ups.as_str(), "link"] {
        repository.file("x.hcl", &format!("target \"a\" {{ dockerfile = \"{path}\" }}"));
        repository
            .file("x.yaml", &format!("services: {{a: {{gpus: all, build: {{context: ., dockerfile: \"{path}\"}}}}}}"));
        for arguments in [["check", "--bake", "x.hcl"], ["check", "--compose", "x.yaml"]] {
            let done = repository.run(&arguments);
            assert_eq!(code(&done), 2, "{path}");
            assert!(out(&done).contains("outside the repository"), "{}", out(&done));
        }
    }
    for context in ["https://example.com/x.git", "git@example.com:x", "docker-image://x"] {
        repository.file("x.hcl", &format!("target \"a\" {{ context = \"{context}\" }}"));
        let done = repository.run(&["check", "--bake", "x.hcl"]);
        assert_eq!(code(&done), 2, "{context}");
        assert!(out(&done).contains("is not read"), "{}", out(&done));
    }
}

/// The base, a variable and the versions of torch and cupy as the first subject has them.
fn built_on(report: &serde_json::Value) -> String {
    let facts = report["subjects"][0]["facts"].as_array().expect("facts");
    let value = |key: &str| {
        // The value of the inner build comes last.
        let mut known = facts.iter().filter(|fact| fact["key"] == key && fact["state"] == "known");
        let known = if key == "image.base" { known.next_back() } else { known.next() };
        known.map_or_else(|| "-".to_owned(), |fact| fact["value"].as_str().unwrap_or("?").to_owned())
    };
    [value("image.base"), value("env.NVIDIA_VISIBLE_DEVICES"), value("torch.version")].join(" ")
}

#[test]
fn build_uses_the_targets_in_its_contexts_as_bases() {
    let repository = TestRepository::new();
    repository.file("base/Dockerfile", "ARG CUDA=12.4.1\nFROM nvidia/cuda:${CUDA}-base-ubuntu22.04 AS gpu\nENV NVIDIA_VISIBLE_DEVICES=2\nFROM alpine AS last\n");
    repository.file("python/Dockerfile", "FROM below\nCOPY r.txt .\nRUN pip install -r r.txt\n");
    repository.file("python/r.txt", "torch==2.5.1\n");
    repository.file("app/Dockerfile", "FROM python AS run\nRUN pip install flask\n");
    let bake = "group \"default\" { targets = [\"app\"] }\n\
                target \"cuda\" {\n context = \"base\"\n target = \"gpu\"\n args = { CUDA = \"12.6.3\" }\n}\n\
                target \"Py_thon\" {\n context = \"python\"\n contexts = { below = \"target:cuda\" }\n}\n\
                target \"app\" {\n context = \"app\"\n contexts = { python = \"target:Py_thon\" }\n}\n";
    repository.file("docker-bake.hcl", bake);
    let report = repository.json(&["check", "--verbose", "--bake", "docker-bake.hcl"]);
    assert_eq!(report["subjects"].as_array().expect("subjects").len(), 1, "only what is asked for is judged");
    assert_eq!(built_on(&report), "nvidia/cuda:12.6.3-base-ubuntu22.04 2 2.5.1");
    // The list that the build below installs is a place in its own folder.
    let text = report.to_string();
    assert!(text.contains("python/r.txt") && !text.contains("target.invalid"), "{text}");
    repository.file(
        "compose.yaml",
        "services:\n  app:\n    runtime: nvidia\n    build:\n      context: app\n      additional_contexts: {python: 'service:py'}\n\
         \x20 py:\n    build:\n      context: python\n      additional_contexts: {below: 'docker-image://pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime'}\n",
    );
    let report = repository.json(&["check", "--verbose", "--compose", "compose.yaml"]);
    assert_eq!(built_on(&report), "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime all 2.5.1");
    // A stage of that name in the file gives way to the context; another context does not touch it.
    for (contexts, expected) in [
        ("{ run = \"target:cuda\" }", "nvidia/cuda:12.6.3-base-ubuntu22.04 2 -"),
        ("{ other = \"target:cuda\" }", "python - -"),
        ("{ run = \"target:absent\" }", "- - -"),
    ] {
        repository.file("app/Dockerfile", "FROM python AS run\nFROM run\nENV X=1\n");
        let target = "target \"cuda\" {\n context = \"base\"\n target = \"gpu\"\n args = { CUDA = \"12.6.3\" }\n}\n";
        let app = format!("target \"app\" {{\n context = \"app\"\n contexts = {contexts}\n}}\n");
        repository.file("one.hcl", &format!("group \"default\" {{ targets = [\"app\"] }}\n{target}{app}"));
        let report = repository.json(&["check", "--verbose", "--bake", "one.hcl"]);
        assert_eq!(built_on(&report), expected, "{contexts}");
    }
}

#[test]
fn cyclic_build_contexts_are_refused_with_their_location() {
    let repository = TestRepository::new();
    repository.file("Dockerfile", "FROM below\n");
    repository.file("ok/Dockerfile", "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n");
    repository.file(
        "x.hcl",
        "target \"fine\" { context = \"ok\" }\n\
         target \"a\" { contexts = { below = \"target:b\" } }\n\
         target \"b\" { contexts = { below = \"target:c\" } }\n\
         target \"c\" { contexts = { below = \"target:b\" } }\n\
         target \"itself\" { contexts = { below = \"target:itself\" } }\n",
    );
    let done = repository.run(&["check", "--format", "json", "--bake", "x.hcl"]);
    assert_eq!(code(&done), 2, "{}", out(&done));
    let report: serde_json::Value = serde_json::from_str(&out(&done)).expect("a report");
    let said = |error: &serde_json::Value| {
        let line = &error["location"]["region"]["start_line"];
        format!("{} {line} {}", error["input"].as_str().unwrap_or("?"), error["message"].as_str().unwrap_or("?"))
    };
    let said: Vec<String> = report["errors"].as_array().expect("errors").iter().map(said).collect();
    assert_eq!(
        said,
        [
            "x.hcl:a 3 its contexts form a cycle: b -> c -> b",
            "x.hcl:b 3 its contexts form a cycle: b -> c -> b",
            "x.hcl:c 4 its contexts form a cycle: c -> b -> c",
            "x.hcl:itself 5 its contexts form a cycle: itself -> itself",
        ]
    );
    assert_eq!(report["subjects"].as_array().expect("subjects").len(), 1);
}

#[test]
fn several_bake_files_are_merged() {
    let base = r#"
CUDA = "12.4.1"
variable "FLAVOUR" { default = "base" }
group "default" { targets = ["app"] }
target "app" {
  context = "app"
  args = { CUDA = CUDA, FLAVOUR = FLAVOUR, A = "1" }
}
target "other" { context = "other" }
"#;
    let more = "FLAVOUR = \"devel\"\nvariable \"CUDA\" {}\ngroup \"more\" { targets = [\"other\"] }\n\
                target \"app\" {\n target = \"run\"\n args = { A = \"2\" }\n}\n";
    let json = r#"{"CUDA": "12.8.0", "target": {"app": {"dockerfile": "D"}}}"#;
    let told = |files: &[(&str, &str)]| lines(&read_bake_files(files).expect("builds"));
    assert_eq!(told(&[("a.hcl", base)]), ["app app/Dockerfile - A=1,CUDA=12.4.1,FLAVOUR=base "]);
    assert_eq!(
        told(&[("a.hcl", base), ("b.hcl", more)]),
        ["app app/Dockerfile run A=2,CUDA=12.4.1,FLAVOUR=devel ", "other other/Dockerfile -  "]
    );
    assert_eq!(told(&[("a.hcl", base), ("b.json", json)]), ["app app/D - A=1,CUDA=12.8.0,FLAVOUR=base "]);
    // The order decides.
    assert_eq!(told(&[("b.json", json), ("a.hcl", base)]), ["app app/D - A=1,CUDA=12.4.1,FLAVOUR=base "]);
    // What a target says itself stands over what it stands on, in whichever form a later file is written.
    let own = "target \"default\" { args = { T = \"1\" } }\ntarget \"dev\" {\n inherits = [\"default\"]\n args = { T = \"2\" }\n}\n\
               group \"default\" { targets = [\"dev\"] }\n";
    let json = r#"{"target": {"default": {"args": {"T": "3"}}}}"#;
    assert_eq!(told(&[("a.hcl", own), ("c.json", json)]), ["dev ./Dockerfile - T=2 "]);
    let wrong = read_bake_files(&[("a.hcl", base), ("b.hcl", "target {")]);
    assert_eq!(wrong.map_err(|(at, _)| at), Err(1));
    assert_eq!(read_bake_files(&[]), Ok(Vec::new()));
}

#[test]
fn functions_over_lists_and_maps_are_called() {
    let value = |written: &str| {
        let text = format!("V = {written}\ntarget \"a\" {{ args = {{ V = V }} }}\n");
        let builds = read_bake_file("x.hcl", &text).expect("builds");
        builds[0].args["V"].clone().unwrap_or_else(|| "?".to_owned())
    };
    for (written, expected) in [
        ("join(\",\", flatten([[\"a\"], [\"b\", [\"c\"]], \"d\"]))", "a,b,c,d"),
        ("lookup({ a = \"1\" }, \"a\", \"2\")", "1"),
        ("lookup({ a = \"1\" }, \"b\", \"2\")", "2"),
        ("format(\"cu%s%d-100%%\", \"12\", 4)", "cu124-100%"),
        ("join(\",\", formatlist(\"x-%s\", [\"a\", \"b\"]))", "x-a,x-b"),
        ("join(\",\", keys({ b = 1, a = 2 }))", "a,b"),
        ("join(\",\", values({ b = 1, a = 2 }))", "2,1"),
        ("lookup(merge({ a = 1 }, { a = 2 }), \"a\")", "2"),
        ("lookup(zipmap([\"a\"], [\"b\"]), \"a\")", "b"),
        ("join(\",\", sort(distinct([\"b\", \"a\", \"b\"])))", "a,b"),
        ("join(\",\", compact([\"a\", \"\"]))", "a"),
        ("join(\",\", reverselist([\"a\", \"b\"]))", "b,a"),
        ("join(\",\", slice([\"a\", \"b\", \"c\"], 1, 3))", "b,c"),
        ("index([\"a\", \"b\"], 1)", "b"),
        ("length(setproduct([\"a\", \"b\"], [1, 2, 3]))", "6"),
        ("length(range(3))", "3"),
        ("length(range(0, 1000000000))", "1000"),
        ("substr(\"12.4.1\", 0, 4)", "12.4"),
        ("strlen(\"abc\")", "3"),
        ("title(\"ab cd\")", "Ab Cd"),
        ("sanitize(\"a.b/c\")", "a_b_c"),
        ("parseint(\"12\", 10)", "12"),
        ("greaterthan(2, 1) ? \"y\" : \"n\"", "y"),
        // What is not said, or not followed, has no value.
        ("lookup({ a = \"1\" }, \"b\")", "?"),
        ("format(\"%05d\", 4)", "?"),
        ("format(\"%s\")", "?"),
        ("format(\"a\", \"b\")", "?"),
        ("slice([\"a\"], 1, 3)", "?"),
        ("index([\"a\"], 1)", "?"),
        ("flatten(\"a\")", "?"),
        ("keys([\"a\"])", "?"),
        ("parseint(\"z\", 10)", "?"),
        ("timestamp()", "?"),
        ("range(0, 1, 0)", "?"),
    ] {
        assert_eq!(value(written), expected, "{written}");
    }
}

#[test]
fn group_targets_from_loops_and_matrices_are_expanded_or_unknown() {
    let text = "CUDAS = [\"12.4\", \"12.8\"]\n\
                group \"default\" { targets = [for c in CUDAS : \"app-${replace(c, \".\", \"-\")}\"] }\n\
                target \"app\" {\n name = \"app-${replace(c, \".\", \"-\")}\"\n matrix = { c = CUDAS }\n args = { C = c }\n}\n\
                target \"other\" {}\n";
    let told = |text: &str| lines(&read_bake_file("x.hcl", text).expect("builds"));
    assert_eq!(told(text), ["app-12-4 ./Dockerfile - C=12.4 ", "app-12-8 ./Dockerfile - C=12.8 "]);
    let open = text.replace("CUDAS = [\"12.4\", \"12.8\"]", "variable \"CUDAS\" {}");
    assert_eq!(
        told(&open),
        ["default (the targets of group `default` are unknown, because their expression could not be evaluated) -  "]
    );
    // A name that nothing has stands for nothing.
    assert_eq!(told("group \"g\" { targets = [\"absent\"] }\ntarget \"a\" {}\n"), [""; 0]);
    let repository = TestRepository::new();
    repository.file("x.hcl", &open);
    let done = repository.run(&["check", "--bake", "x.hcl"]);
    assert_eq!(code(&done), 2);
    let said = format!("{}{}", out(&done), String::from_utf8_lossy(&done.stderr));
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("the targets of group `default` are unknown"), "{said}");
}

#[test]
fn paths_of_a_bake_file_are_seen_from_where_bake_is_called() {
    let repository = TestRepository::new();
    repository.file("app/Dockerfile", "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n");
    repository.file("docker/beside/Dockerfile", "FROM nvidia/cuda:12.6.3-base-ubuntu22.04\n");
    repository.file("both/Dockerfile", "FROM nvidia/cuda:12.8.0-base-ubuntu22.04\n");
    repository.file("docker/both/Dockerfile", "FROM nvidia/cuda:11.8.0-base-ubuntu22.04\n");
    repository.file(
        "docker/docker-bake.hcl",
        "target \"app\" {\n context = \".\"\n dockerfile = \"app/Dockerfile\"\n}\n\
         target \"beside\" { context = \"beside\" }\n\
         target \"both\" { context = \"both\" }\n",
    );
    let report = repository.json(&["check", "--verbose", "--bake", "docker/docker-bake.hcl"]);
    let bases: Vec<String> = report["subjects"]
        .as_array()
        .expect("subjects")
        .iter()
        .map(|subject| subject["description"]["base"].as_str().unwrap_or("?").to_owned())
        .collect();
    assert_eq!(
        bases,
        [
            "nvidia/cuda:12.4.1-base-ubuntu22.04",
            "nvidia/cuda:12.6.3-base-ubuntu22.04",
            "nvidia/cuda:12.8.0-base-ubuntu22.04"
        ]
    );
    repository.file("docker/none.hcl", "target \"none\" { context = \"nowhere\" }\n");
    let done = repository.run(&["check", "--bake", "docker/none.hcl"]);
    let said = format!("{}{}", out(&done), String::from_utf8_lossy(&done.stderr));
    assert!(code(&done) == 2 && said.contains("cannot read nowhere/Dockerfile"), "{said}");
}

#[test]
fn regular_expressions_are_computed_and_other_functions_leave_the_target_with_a_note() {
    let text = r#"variable "V" { default = "12.4.1" }
target "app" {
  matrix = { cuda = ["12.4.1", "11.8.0"] }
  name = "app-${regex_replace(cuda, "[.]", "-")}"
  args = {
    SHORT = regex_replace(V, "^(\\d+)[.](\\d+).*$", "$${1}$${2}")
    FIRST = regex("[0-9]+", V)
    MAJOR = regex("^(?P<major>[0-9]+)[.]", V).major
    ALL = join("-", regexall("[0-9]+", V))
    DIR = dirname("/a/b")
    NONE = regex("x", V)
  }
}
"#;
    let builds = read_bake_file("docker-bake.hcl", text).expect("builds");
    let args = "ALL=12-4-1,DIR=/a,FIRST=12,MAJOR=12,NONE=?,SHORT=124";
    assert_eq!(
        lines(&builds),
        [format!("app-12-4-1 ./Dockerfile - {args} "), format!("app-11-8-0 ./Dockerfile - {args} ")]
    );
    assert!(
        builds.iter().all(|build| !build.notes.iter().any(|note| note.to_string().contains("regex_replace"))),
        "{builds:?}"
    );

    // The date of the build is in no file.
    let text = "target \"dated\" {\n  target = \"run-${timestamp()}\"\n  args = { A = \"1\", B = uuidv4() }\n}\n";
    let builds = read_bake_file("docker-bake.hcl", text).expect("builds");
    let why = "`target` of target `dated` is unknown: imagelint does not compute `timestamp` (docker-bake.hcl:2:19)";
    assert_eq!(lines(&builds), [format!("dated ({why}) - A=1,B=? ")]);
    let notes = builds[0].notes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    for expected in ["`timestamp` (docker-bake.hcl:2:19)", "`uuidv4` (docker-bake.hcl:3:25)"] {
        assert!(notes.contains(expected), "{notes}");
    }
    // What decides which Dockerfile is built has no default then.
    for (key, written) in [
        ("dockerfile", "frob(\"x\")"),
        ("context", "\"./${frob(1)}\""),
        ("inherits", "[frob(\"x\")]"),
        ("matrix", "{ v = frob(1) }"),
    ] {
        let text = format!("target \"a\" {{\n  {key} = {written}\n}}\n");
        let builds = read_bake_file("docker-bake.hcl", &text).expect("builds");
        let why = format!("`{key}` of target `a` is unknown: imagelint does not compute `frob` (docker-bake.hcl:2:");
        assert!(builds.len() == 1 && lines(&builds)[0].starts_with(&format!("a ({why}")), "{builds:?}");
    }
    let text = "target \"m\" {\n  matrix = { v = [\"1\"] }\n  name = \"m-${sha256(v)}\"\n}\n";
    let builds = read_bake_file("docker-bake.hcl", text).expect("builds");
    assert_eq!(lines(&builds), ["m (name unknown; v = 1) ./Dockerfile -  "]);
    assert!(
        builds[0].notes.iter().any(|note| note.to_string().contains("`name`") && note.to_string().contains(":3:15)")),
        "{builds:?}"
    );
}

#[test]
fn matrix_targets_inherit_per_row() {
    let text = r#"
target "app" {
  matrix = { k = ["gpu", "cpu"] }
  name = "app-${k}"
  inherits = ["_${k}"]
}
target "_gpu" { dockerfile = "Dockerfile.gpu" }
target "_cpu" { dockerfile = "Dockerfile.cpu" }
"#;
    let builds = read_bake_file("docker-bake.hcl", text).expect("builds");
    assert_eq!(lines(&builds), ["app-gpu ./Dockerfile.gpu -  ", "app-cpu ./Dockerfile.cpu -  "]);
    assert!(builds.iter().all(|build| build.notes.is_empty()), "{builds:?}");
}

#[test]
fn failed_bake_function_is_reported_with_reason_and_position() {
    // `docker buildx bake` builds nothing here: no target has these names.
    let name = "target \"m\" {\n  matrix = { v = [\"12.4.1\", \"13.0.1\"] }\n  name = \"m-${regex_replace(v, \"[\", \"-\")}\"\n}\n";
    let builds = read_bake_file("docker-bake.hcl", name).expect("builds");
    let why = "`name` of target `m` is unknown: `regex_replace` fails: `[` is not a regular expression: unclosed character \
               class (docker-bake.hcl:3:15)";
    assert_eq!(lines(&builds), [format!("m ({why}) -  ")]);
    for (text, expected) in [
        (
            "target \"a\" {\n  args = { CUDA = regex_replace(\"12\", \"(\", \"x\") }\n}\n",
            "`args` of target `a` is unknown: `regex_replace` fails: `(` is not a regular expression: unclosed group \
             (docker-bake.hcl:2:19)",
        ),
        (
            "variable \"V\" { default = regex(\"[\", \"1\") }\ntarget \"a\" { args = { CUDA = V } }\n",
            "`regex` fails: `[` is not a regular expression",
        ),
        (
            "target \"a\" { target = element([], 0) }\n",
            "`target` of target `a` is unknown: `element` fails: expected a list",
        ),
    ] {
        let builds = read_bake_file("docker-bake.hcl", text).expect("builds");
        assert_eq!(builds.len(), 1, "{builds:?}");
        assert!(builds[0].notes.iter().any(|note| note.to_string().contains(expected)), "{expected}: {builds:?}");
    }
    // A variable without a value, and a function that has one, refuse nothing.
    for text in [
        "variable \"V\" {}\ntarget \"a\" { args = { CUDA = regex_replace(V, \"[.]\", \"-\") } }\n",
        "target \"a\" { args = { CUDA = regex_replace(\"1\", \"[.]\", \"-\") } }\n",
    ] {
        let builds = read_bake_file("docker-bake.hcl", text).expect("builds");
        assert!(builds[0].notes.iter().all(|note| !note.to_string().contains("fails")), "{builds:?}");
    }
    let repository = TestRepository::new();
    repository.file("docker-bake.hcl", name);
    let done = repository.run(&["check", "--bake", "docker-bake.hcl"]);
    let said = format!("{}{}", out(&done), String::from_utf8_lossy(&done.stderr));
    assert!(code(&done) == 2 && said.contains("unclosed character"), "{said}");
}

#[test]
fn target_used_only_as_a_parent_is_not_built() {
    let names = |text: &str| -> Vec<String> {
        read_bake_file("docker-bake.hcl", text).expect("builds").into_iter().map(|build| build.name).collect()
    };
    let app = "target \"app\" { inherits = [\"base\", \"_common\"] }\ntarget \"_common\" {}\n";
    assert_eq!(names(&format!("{app}target \"base\" {{ context = \"x\" }}\n")), ["app"]);
    // It has a result of its own, or a group names it.
    assert_eq!(names(&format!("{app}target \"base\" {{ tags = [\"x\"] }}\n")), ["app", "base"]);
    let group = "group \"default\" { targets = [\"base\", \"_common\"] }\n";
    assert_eq!(names(&format!("{group}{app}target \"base\" {{}}\n")), ["_common", "base"]);
    // A parent is named row by row of a matrix, and an empty tag is no result.
    let matrix =
        "target \"app\" {\n  matrix = { k = [\"gpu\"] }\n  name = \"app-${k}\"\n  inherits = [\"base-${k}\"]\n}\n";
    assert_eq!(names(&format!("{matrix}target \"base-gpu\" {{ dockerfile = \"none\" }}\n")), ["app-gpu"]);
    for empty in ["tags = []", "tags = [\"\"]", "output = []", "output = [\"\"]", "tags = null"] {
        assert_eq!(names(&format!("{app}target \"base\" {{ {empty} }}\n")), ["app"], "{empty}");
    }
    assert_eq!(names(&format!("{app}target \"base\" {{ output = [\"type=docker\"] }}\n")), ["app", "base"]);
    // A variable may be a tag.
    assert_eq!(names(&format!("variable \"T\" {{}}\n{app}target \"base\" {{ tags = [T] }}\n")), ["app", "base"]);
    // Without a group `default`, the target of this name is built in addition to those of other groups.
    let ci = "group \"ci\" { targets = [\"b\"] }\ntarget \"default\" {}\ntarget \"b\" {}\ntarget \"c\" {}\n";
    assert_eq!(names(ci), ["b", "default"]);
    assert_eq!(names(&format!("group \"default\" {{ targets = [\"c\"] }}\n{ci}")), ["b", "c"]);
    // A file of nothing else, and a target that `docker buildx bake` builds without being named.
    assert_eq!(names("target \"_a\" {}\n"), ["_a"]);
    assert_eq!(names("target \"default\" {}\ntarget \"b\" { inherits = [\"default\"] }\n"), ["b", "default"]);
}

#[test]
fn compose_service_without_gpu_request_is_skipped_with_a_note() {
    let repository = TestRepository::new();
    let request = |more: &str| {
        let image = "dockerfile_inline: \"FROM nvidia/cuda:12.4.1-base-ubuntu22.04\"";
        let gpu = format!("  gpu:\n    gpus: all\n    build: {{context: ., {image}}}\n");
        repository.file("gpu.env", "A=1\nNVIDIA_VISIBLE_DEVICES=all\n");
        repository.file("cpu.env", "NVIDIA_VISIBLE_DEVICES=none\n");
        repository.file("c.yaml", &format!("services:\n{gpu}  x:\n    build: {{context: ., {image}}}\n{more}"));
        let done = repository.run(&["check", "--format", "json", "--compose", "c.yaml"]);
        let report: serde_json::Value = serde_json::from_str(&out(&done)).expect("JSON");
        let names: Vec<String> = report["subjects"]
            .as_array()
            .expect("subjects")
            .iter()
            .map(|subject| subject["name"].as_str().expect("a name").to_owned())
            .collect();
        let note = String::from_utf8_lossy(&done.stderr).contains("c.yaml:x is skipped: the service requests no GPU");
        (names.len(), note)
    };
    for more in [
        "",
        "    runtime: runc\n",
        "    environment: {NVIDIA_VISIBLE_DEVICES: none}\n",
        "    environment: [A=1]\n",
        "    deploy: {resources: {reservations: {devices: []}}}\n",
        "    deploy: {resources: {reservations: {devices: [{driver: fpga, capabilities: [fpga]}]}}}\n",
        "    deploy: {resources: {reservations: {devices: [{driver: amd, capabilities: [gpu]}]}}}\n",
        "    deploy: {resources: {reservations: {devices: [{capabilities: [tpu]}]}}}\n",
        "    deploy: {resources: {reservations: {generic_resources: [{discrete_resource_spec: {kind: ssd, value: 1}}]}}}\n",
        "    gpus: []\n",
        "    gpus: 0\n",
        "    gpus: [{driver: amd, count: 1}]\n",
        "    environment: [NVIDIA_VISIBLE_DEVICES_OLD=all]\n",
        "    environment: {NVIDIA_VISIBLE_DEVICES_OLD: all}\n",
        "    environment: [NVIDIA_VISIBLE_DEVICES=none]\n",
        "    devices: [/dev/fuse, {source: /dev/snd, target: /dev/snd}]\n",
        "    env_file: cpu.env\n",
        "    env_file: [gpu.env, cpu.env]\n",
        "    env_file: gpu.env\n    environment: {NVIDIA_VISIBLE_DEVICES: void}\n",
        "    env_file: [{path: absent.env, required: false}]\n",
    ] {
        assert_eq!(request(more), (1, true), "{more}");
    }
    for more in [
        "    gpus: 1\n",
        "    runtime: nvidia\n",
        "    runtime: ${RUNTIME}\n",
        "    environment: {NVIDIA_VISIBLE_DEVICES: all}\n",
        "    environment: [NVIDIA_VISIBLE_DEVICES]\n",
        "    devices: [nvidia.com/gpu=all]\n",
        "    deploy: {resources: {reservations: {devices: [{driver: nvidia, capabilities: [gpu]}]}}}\n",
        "    deploy: {resources: {reservations: {devices: [{capabilities: [gpu]}]}}}\n",
        "    deploy: {resources: {reservations: {devices: [{driver: cdi, device_ids: [nvidia.com/gpu=all]}]}}}\n",
        "    deploy: {resources: {reservations: {devices: [{driver: \"${DRIVER}\", capabilities: [tpu]}]}}}\n",
        "    deploy: {resources: {reservations: {generic_resources: [{discrete_resource_spec: {kind: NVIDIA-GPU, value: 1}}]}}}\n",
        "    gpus: [{count: 1}]\n",
        "    devices: [{source: nvidia.com/gpu=all, target: x}]\n",
        "    env_file: gpu.env\n",
        "    env_file: [{path: gpu.env}]\n",
        "    env_file: [cpu.env, gpu.env]\n",
        "    env_file: absent.env\n",
        "    env_file: [cpu.env, absent.env]\n",
        "    extends: {service: gpu}\n",
        "    extends: {file: absent.yaml, service: base}\n",
    ] {
        assert_eq!(request(more), (2, false), "{more}");
    }
}

#[test]
fn several_compose_files_are_merged() {
    let merged = |files: &[&str]| read_compose_files(files, &parse_environment_file(""), &|_| None);
    let asked = |files: &[&str]| -> Vec<(String, bool)> {
        merged(files).expect("builds").into_iter().map(|build| (build.name, build.requested)).collect()
    };
    let own = |name: &str, asked: bool| vec![(name.to_owned(), asked)];
    let base = "services: {a: {build: .}}";
    assert_eq!(asked(&[base]), own("a", false));
    for (over, expected) in [
        ("services: {a: {gpus: all}}", true),
        ("services: {a: {runtime: nvidia}}", true),
        ("services: {a: {environment: [NVIDIA_VISIBLE_DEVICES=all]}}", true),
        ("services: {a: {deploy: {resources: {reservations: {devices: [{capabilities: [gpu]}]}}}}}", true),
        ("services: {a: {ports: ['80']}}", false),
        ("services: {a: }", false),
        ("volumes: {x: }", false),
    ] {
        assert_eq!(asked(&[base, over]), own("a", expected), "{over}");
    }
    // The last word counts.
    let gpu = "services: {a: {build: ., environment: {NVIDIA_VISIBLE_DEVICES: all}}}";
    assert_eq!(asked(&[gpu, "services: {a: {environment: [NVIDIA_VISIBLE_DEVICES=none]}}"]), own("a", false));
    let both = asked(&[base, "services: {b: {build: b, gpus: all}}"]);
    assert_eq!(both, [("a".to_owned(), false), ("b".to_owned(), true)]);
    // Builds are merged: arguments one by one, a Dockerfile in the place of another.
    let builds = merged(&[
        "services: {a: {build: {context: x, dockerfile: D, args: [A=1, B=1]}}}",
        "services: {a: {build: {dockerfile: E, args: {B: 2}}}}",
    ]);
    assert_eq!(lines(&builds.expect("builds")), ["a x/E - A=1,B=2 "]);
    let broken = merged(&[base, "services: {a: ["]).expect_err("it breaks off");
    assert_eq!(broken.0, 1, "{broken:?}");

    let repository = TestRepository::new();
    repository.file("Dockerfile", "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n");
    repository.file("c.yaml", base);
    repository.file("c2.yaml", "services: {a: {gpus: all}}");
    let report = repository.json(&["check", "--compose", "c.yaml", "--compose", "c2.yaml"]);
    let names: Vec<&serde_json::Value> =
        report["subjects"].as_array().expect("subjects").iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["c.yaml:a"]);
    assert_eq!(code(&repository.run(&["check", "--compose", "c.yaml"])), 3);
}

#[test]
fn under_a_default_runtime_the_image_requests_the_gpu() {
    let pool = |name: &str, launch: &str| {
        format!(
            "[[pool]]\nname = \"{name}\"\ngpu = \"T4\"\ndriver = \"525.60.13\"\nlaunch = \"{launch}\"\ntoolkit = \"1.17.8\"\n"
        )
    };
    let repository = TestRepository::empty();
    // The pools on which the service is checked; none where it is skipped.
    let pools = |fleet: &str, base: &str, more: &str| -> Vec<String> {
        repository.file("fleet.toml", fleet);
        repository.file("Dockerfile", &format!("FROM {base}\nRUN pip install torch==2.4.0\n"));
        repository.file("c.yaml", &format!("services:\n  a:\n    build: .\n{more}"));
        let done = repository.run(&["check", "--format", "json", "--compose", "c.yaml"]);
        let report: serde_json::Value = serde_json::from_str(&out(&done)).expect("JSON");
        let skipped =
            String::from_utf8_lossy(&done.stderr).contains("c.yaml:a is skipped: the service requests no GPU");
        let subjects = report["subjects"].as_array().expect("subjects");
        assert_eq!(subjects.is_empty(), skipped, "{report}");
        let mut names: Vec<String> = subjects
            .iter()
            .flat_map(|one| one["verdicts"].as_array().expect("verdicts"))
            .map(|one| one["pool"].as_str().expect("a name").to_owned())
            .collect();
        names.dedup();
        names
    };
    let (runtime, engine) = (pool("r", "nvidia-runtime"), pool("e", "docker-gpus"));
    let both = format!("{engine}{runtime}");
    let cuda = "nvidia/cuda:12.4.1-runtime-ubuntu22.04";
    for (fleet, base, more, expected) in [
        (runtime.as_str(), cuda, "", &["r"][..]),
        (&both, cuda, "", &["r"]),
        (&both, cuda, "    gpus: all\n", &["e", "r"]),
        (&engine, cuda, "", &[]),
        (&runtime, cuda, "    environment: {NVIDIA_VISIBLE_DEVICES: none}\n", &[]),
        (&runtime, cuda, "    runtime: runc\n", &[]),
        (&runtime, "python:3.11-slim", "", &[]),
    ] {
        assert_eq!(pools(fleet, base, more), expected, "{fleet} {base} {more}");
    }
}
