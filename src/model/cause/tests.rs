//! What code decides by is the same for a cause and for what files hold of it.

use super::*;

#[test]
fn deciding_causes_survive_a_saved_report() {
    let build = |because| Cause::BuildNotKnown { because: Box::new(because) };
    let sources = || Cause::BuiltFromSources { path: "pytorch/vision".to_owned() };
    for (cause, several, from_sources) in [
        (Cause::SeveralBuilds, true, false),
        (build(Cause::SeveralBuilds), true, false),
        (sources(), false, true),
        (build(sources()), false, true),
        (Cause::SeveralLockedBuilds, false, false),
        (build(Cause::NoIndex), false, false),
        (Cause::VersionNotKnown { name: "torch".to_owned(), because: Box::new(sources()) }, false, false),
    ] {
        let saved = Cause::from(CauseText::from(cause.clone()));
        assert_eq!((saved.reason(), saved.remedy()), (cause.reason(), cause.remedy()));
        for one in [&cause, &saved] {
            assert_eq!((one.is_several_builds(), one.is_built_from_sources()), (several, from_sources), "{one}");
        }
    }
}

#[test]
fn names_are_those_of_the_fields_also_in_a_saved_report() {
    let list = |path: &str, because, effect| Cause::ListNotRead {
        file: UnreadFile { path: path.to_owned(), because: Box::new(because) },
        effect,
    };
    let words = |variable: Option<&str>, tag: Option<&str>| Cause::UnknownPackages {
        words: UnknownWords {
            variable: variable.map(str::to_owned),
            tag: tag.map(str::to_owned),
            because: Box::new(Cause::CommandOutput),
        },
    };
    let image = || Cause::FromImage { image: "nvidia/cuda:12".to_owned() };
    let in_layer = Cause::LayerFileNotRead { mark: "a sparse file".to_owned(), path: "opt/gpu: a".to_owned() };
    for (cause, names, saved_names) in [
        (list("a.txt", Cause::NotThere, ListEffect::Installs), Some(&["a.txt"][..]), Some(&["a.txt"][..])),
        (list("/a.txt", Cause::NotThere, ListEffect::Constrains), Some(&["/a.txt"]), Some(&["/a.txt"])),
        (
            list("a.txt", image(), ListEffect::InstallsFrom("cu121".to_owned())),
            Some(&["a.txt", "nvidia/cuda:12", "cu121"]),
            Some(&["a.txt", "nvidia/cuda:12", "cu121"]),
        ),
        (list("a.txt", Cause::NoContext, ListEffect::Installs), Some(&["a.txt"]), Some(&["a.txt"])),
        (words(Some("GPU_LIST"), Some("cu121")), Some(&["GPU_LIST", "cu121"]), Some(&["GPU_LIST", "cu121"])),
        (words(Some("GPU_LIST"), None), Some(&["GPU_LIST"]), Some(&["GPU_LIST"])),
        (words(None, None), Some(&[]), None),
        (Cause::OutsideIndex { address: "u".to_owned() }, Some(&["u"]), Some(&["u"])),
        (in_layer, Some(&["opt/gpu: a"]), Some(&["a"])),
        (Cause::StageNotEvaluated { error: "no CUDA".to_owned() }, Some(&[]), None),
        (Cause::recorded("the CUDA list is long", ""), None, None),
    ] {
        let saved = Cause::from(CauseText::from(cause.clone()));
        assert_eq!(cause.names().as_deref(), names, "{cause}");
        assert_eq!(saved.names().as_deref(), saved_names, "saved: {cause}");
    }
}
