//! The refresh of measured tables tests itself, offline and with the tables as they are; here it is run where Python 3.11 or
//! later is at hand. The recipes of CUDA base images, a table that it fills, hold together.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use imagelint::knowledge::{CudaRecipeRow, Knowledge};

const KNOWLEDGE: Knowledge = Knowledge::built_in();

#[test]
fn refresh_script_passes_its_self_check_and_rejects_unknown_names() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules/refresh");
    let run = |argument: &str| Command::new("python3").arg(&script).arg(argument).output().expect("a run");
    let done = run("--self-check");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(String::from_utf8_lossy(&done.stdout), "self-check passed\n");
    let done = run("no-such-distribution");
    assert!(!done.status.success());
    assert!(String::from_utf8_lossy(&done.stderr).contains("no reader for no-such-distribution"));
}

/// No two rows say different things of one image on one day, but for the day on which a recipe changed and was retired.
#[test]
fn cuda_recipes_do_not_overlap_in_time() {
    let mut images: BTreeMap<(&str, &str, &str), Vec<&CudaRecipeRow>> = BTreeMap::new();
    for recipe in KNOWLEDGE.cuda_recipes() {
        for (os, _) in recipe.arches {
            for arch in recipe.architectures_on(os) {
                images.entry((recipe.version, os, arch)).or_default().push(recipe);
            }
        }
    }
    assert!(images.len() > 700, "{}", images.len());
    for (image, mut rows) in images {
        rows.sort_by_key(|row| row.first);
        for pair in rows.windows(2) {
            let retired =
                pair[0].until == pair[1].until && pair[1].first.and_then(|day| day.tomorrow().ok()) == pair[1].until;
            assert!(pair[0].until.is_some_and(|until| pair[1].first >= Some(until)) || retired, "{image:?}: {pair:?}");
        }
    }
}

/// Every requirement was that of an image, and every operating system that a tag names has a recipe.
#[test]
fn recipes_contain_every_tag() {
    for row in KNOWLEDGE.requirements() {
        assert!(KNOWLEDGE.cuda_recipes().iter().any(|recipe| recipe.require == Some(row.id)), "{}", row.id);
    }
    for image in KNOWLEDGE.cuda_images() {
        for os in image.os {
            let mut recipes = KNOWLEDGE.cuda_recipes_for_version(image.version);
            assert!(recipes.any(|recipe| recipe.architectures_on(os).next().is_some()), "{} {os}", image.version);
        }
        let built = KNOWLEDGE.cuda_recipes_for_version(image.version).any(|recipe| recipe.compat == Some(true));
        assert_eq!(image.compat_package.is_some(), built, "{}", image.version);
    }
}
