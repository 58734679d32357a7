//! Tests that a build context reads only files below its root.

use std::fs;

use crate::dockerfile::context::{BuildContext, ContextFileError, ContextFiles, ContextReader as _, RecordingReader};
use crate::text::source::Sources;

#[test]
fn only_files_below_the_root_are_read() {
    let outside = tempfile::tempdir().expect("folder");
    fs::write(outside.path().join("secret"), "torch==1.0\n").expect("file");
    let root = outside.path().join("root");
    fs::create_dir_all(root.join("sub")).expect("folder");
    fs::write(root.join("a.txt"), "torch\n").expect("file");
    fs::write(root.join("hidden.txt"), "torch\n").expect("file");
    for name in ["b.sh", "a.sh", ".c.sh", "w.whl", "x.shx"] {
        fs::write(root.join("sub").join(name), "").expect("file");
    }
    fs::write(root.join(".dockerignore"), "hidden.txt\n").expect("file");
    std::os::unix::fs::symlink("../secret", root.join("link")).expect("link");
    std::os::unix::fs::symlink("a.txt", root.join("near")).expect("link");
    std::os::unix::fs::symlink("..", root.join("up")).expect("link");
    let context = BuildContext::new(&root, None).expect("context");
    let mut sources = Sources::default();
    let gathering = RecordingReader::new(&context, &mut sources);
    for (path, expected) in [
        ("a.txt", Ok("torch\n")),
        ("near", Ok("torch\n")),
        ("hidden.txt", Err(ContextFileError::Ignored)),
        ("link", Err(ContextFileError::Outside)),
        ("up/secret", Err(ContextFileError::Outside)),
        ("../secret", Err(ContextFileError::Outside)),
        ("sub", Err(ContextFileError::NotThere)),
        ("none", Err(ContextFileError::NotThere)),
        ("*.txt", Ok("a.txt")),
        ("sub/*.sh", Ok("a.sh\nb.sh")),
        ("sub/*", Ok("w.whl")),
        ("sub/*.py", Ok("")),
        ("up/*.txt", Err(ContextFileError::Outside)),
        ("none/*.txt", Err(ContextFileError::NotThere)),
    ] {
        let file = gathering.open(path);
        assert_eq!(file.as_ref().map(|file| &*file.text).map_err(|missing| *missing), expected, "{path}");
    }
    let files = gathering.into_files();
    assert!(files.open("a.txt").is_ok());
    assert_eq!(files.open("never asked").err(), Some(ContextFileError::NoContext));
    assert_eq!(sources.iter().count(), 6);
}

#[test]
fn without_a_context_nothing_is_read() {
    assert!(BuildContext::new(std::path::Path::new("/nowhere/at/all"), None).is_none());
    assert_eq!(ContextFiles::default().open("requirements.txt").err(), Some(ContextFileError::NoContext));
}

/// Replacing one text preserves the parse caches of the others and drops that of the old text.
#[test]
fn parse_caches_belong_to_their_text() {
    let root = tempfile::tempdir().expect("folder");
    for name in ["a.lock", "b.txt"] {
        fs::write(root.path().join(name), "old\n").expect("file");
    }
    let context = BuildContext::new(root.path(), None).expect("context");
    let mut sources = Sources::default();
    let gathering = RecordingReader::new(&context, &mut sources);
    let [lock, list] = ["a.lock", "b.txt"].map(|name| gathering.open(name).expect("a file").source);
    let files = gathering.into_files();
    let length = |files: &ContextFiles, name: &str| {
        let file = files.open(name).expect("a file");
        (file.parse_cache.get_or_parse(|| file.text.len()), file)
    };
    let same = |one: &ContextFiles, other: &ContextFiles, name: &str| {
        std::sync::Arc::ptr_eq(&length(one, name).0, &length(other, name).0)
    };
    assert!(!same(&files, &files, "a.lock"), "keeping it was not requested");
    let files = files.with_parse_caches();
    assert!(same(&files, &files.clone(), "a.lock"));
    let new = files.with_text(list, &"a longer text\n".into()).expect("one of the files");
    assert!(same(&files, &new, "a.lock") && !same(&files, &new, "b.txt"));
    assert_eq!((*length(&files, "b.txt").0, *length(&new, "b.txt").0), (4, 14));
    assert!(same(&new, &new, "b.txt") && lock != list);
}
