//! Bake and compose files.

use imagelint::dockerfile::builds;
use imagelint::dockerfile::builds::{BuildsError, ImageBuild, parse_environment_file};

pub(crate) const BAKE_WORDS: &[&str] = &[
    "target \"a\" {\n",
    "}\n",
    "inherits = [\"a\"]\n",
    "args = { A = B, \"C\" = 1 }\n",
    "variable \"A\" { default = \"${A}\" }\n",
    "matrix = { x = [1, 2, 3] }\n",
    "name = \"a-${x}\"\n",
    "A == \"\" ? 1 : 2",
    "upper(join(\"\", [A]))",
    "<<E\n",
    "\nE\n",
    "%{ for x in y }",
    "[for x in y : x]",
    "${",
    "!-",
];

pub(crate) const COMPOSE_WORDS: &[&str] = &[
    "services:\n",
    "  x:\n    build:\n",
    "      args: [A=${B:-c}, D]\n",
    "&a ",
    "*a",
    "<<: *a\n",
    "!!binary ",
    "${A:?}",
    "---\n",
    "|\n  ",
    "? ",
    "{a: [b, {c: d}]}",
];

pub(crate) fn bake_seeds() -> Vec<String> {
    let seeds = [
        "variable \"A\" {\n  default = \"1\"\n}\ngroup \"default\" {\n  targets = [\"x\"]\n}\ntarget \"y\" {\n  context = \".\"\n}\n",
        "target \"x\" {\n  inherits = [\"y\"]\n  args = {\n    B = \"v-${A}\"\n    C = A == \"1\" ? \"x\" : null\n  }\n}\n",
        "target \"m\" {\n  matrix = {\n    v = [\"1\", \"2\"]\n  }\n  name = \"m-${v}\"\n  dockerfile-inline = <<E\nFROM a:${v}\nE\n}\n",
        "{\"target\": {\"a\": {\"args\": {\"X\": \"${V}\"}, \"platforms\": [\"linux/amd64\"]}}}",
    ];
    seeds.map(str::to_owned).to_vec()
}

pub(crate) fn compose_seeds() -> Vec<String> {
    let seeds = [
        "x-a: &a\n  context: .\nservices:\n  x:\n    build:\n      <<: *a\n      args:\n        A: ${B:-c}\n",
        "services:\n  y:\n    build: ./z\n    platform: linux/arm64\n  w: {image: b}\n",
        "services:\n  v:\n    build:\n      dockerfile_inline: |\n        FROM a\n      args: [A, B=1]\n",
    ];
    seeds.map(str::to_owned).to_vec()
}

fn sound(found: Result<Vec<ImageBuild>, BuildsError>) {
    match found {
        Ok(builds) => assert!(builds.len() <= 1_000, "{} builds", builds.len()),
        Err(error) => assert!(!error.to_string().is_empty(), "says nothing"),
    }
}

pub(crate) fn read_bake(text: &str) {
    sound(builds::read_bake_file("docker-bake.hcl", text));
    sound(builds::read_bake_file("docker-bake.json", text));
}

pub(crate) fn read_compose(text: &str) {
    sound(builds::read_compose_file(text, &parse_environment_file(text), &|_| Some(text.to_owned())));
}
