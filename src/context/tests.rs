//! What a context gives, and what it never gives.

use std::fs;

use crate::context::Context;
use crate::context::Files;
use crate::context::Gathering;
use crate::context::Missing;
use crate::context::Shelf as _;
use crate::source::Sources;

#[test]
fn files_come_from_below_the_root_alone() {
    let outside = tempfile::tempdir().expect("folder");
    fs::write(outside.path().join("secret"), "torch==1.0\n").expect("file");
    let root = outside.path().join("root");
    fs::create_dir_all(root.join("sub")).expect("folder");
    fs::write(root.join("a.txt"), "torch\n").expect("file");
    fs::write(root.join("hidden.txt"), "torch\n").expect("file");
    fs::write(root.join(".dockerignore"), "hidden.txt\n").expect("file");
    std::os::unix::fs::symlink("../secret", root.join("link")).expect("link");
    std::os::unix::fs::symlink("a.txt", root.join("near")).expect("link");
    std::os::unix::fs::symlink("..", root.join("up")).expect("link");
    let context = Context::new(&root, None).expect("context");
    let mut sources = Sources::default();
    let gathering = Gathering::new(&context, &mut sources);
    for (path, expected) in [
        ("a.txt", Ok("torch\n")),
        ("near", Ok("torch\n")),
        ("hidden.txt", Err(Missing::Ignored)),
        ("link", Err(Missing::Outside)),
        ("up/secret", Err(Missing::Outside)),
        ("../secret", Err(Missing::Outside)),
        ("sub", Err(Missing::NotThere)),
        ("none", Err(Missing::NotThere)),
    ] {
        let file = gathering.open(path);
        assert_eq!(file.as_ref().map(|file| &*file.text).map_err(|missing| *missing), expected, "{path}");
    }
    let files = gathering.into_files();
    assert!(files.open("a.txt").is_ok());
    assert_eq!(files.open("never asked").err(), Some(Missing::NoContext));
    assert_eq!(sources.iter().count(), 2);
}

#[test]
fn without_a_context_nothing_is_read() {
    assert!(Context::new(std::path::Path::new("/nowhere/at/all"), None).is_none());
    assert_eq!(Files::default().open("requirements.txt").err(), Some(Missing::NoContext));
}
