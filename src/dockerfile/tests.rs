//! Tables for expansion and evaluation.

use crate::dockerfile::evaluated_target::MOST_INSTRUCTIONS;
use crate::dockerfile::{
    BaseKind, Dialect, Dockerfile, EvaluateError, EvaluateOptions, EvaluatedTarget, ExpandedText, VariableLookup,
    expand_variables,
};
use crate::model::cause::Cause;
use crate::text::source::Span;

fn evaluate_target(text: &str, target: Option<&str>) -> EvaluatedTarget {
    let options = EvaluateOptions {
        target: target.map(str::to_owned),
        ..EvaluateOptions::new(crate::knowledge::Knowledge::built_in())
    };
    Dockerfile::parse(text).evaluate(&options).expect("a stage")
}

#[test]
fn bases_follow_arguments_and_stages() {
    let text = "ARG V=12.4.1\nARG N\nFROM nvidia/cuda:${V}-base AS one\nFROM --platform=$TARGETPLATFORM One\nFROM x:$N AS n\nFROM scratch\n";
    let second = evaluate_target(text, Some("1"));
    assert_eq!(
        (second.chain.as_slice(), second.base.text.known_text()),
        ([0, 1].as_slice(), Some("nvidia/cuda:12.4.1-base"))
    );
    assert_eq!(second.base.sources, [Span::new(6, 12)]);
    assert!(matches!(&second.base.kind, BaseKind::Image(image) if image.familiar_name() == "nvidia/cuda"));
    assert_eq!(evaluate_target(text, Some("n")).base.kind, BaseKind::Unresolved);
    assert_eq!(evaluate_target(text, None).base.kind, BaseKind::Scratch);
    assert_eq!(evaluate_target("FROM {{ base }}", None).base.kind, BaseKind::Unresolved);
    assert_eq!(evaluate_target("FROM {base_image}", None).base.kind, BaseKind::Unresolved);
    assert_eq!(Dockerfile::parse("FROM a\n{extra}\n{a b}\n").problems.iter().filter(|one| one.templated).count(), 1);
    assert_eq!(evaluate_target("FROM <image>", None).base.kind, BaseKind::Unresolved);
    assert!(
        Dockerfile::parse(text)
            .evaluate(&EvaluateOptions {
                target: Some("z".into()),
                ..EvaluateOptions::new(crate::knowledge::Knowledge::built_in())
            })
            .is_err()
    );
}

#[test]
fn the_environment_is_the_one_before_the_instruction() {
    let text =
        "ARG G=g\nFROM a\nARG G\nARG TARGETARCH\nENV A=1 B=$G$TARGETARCH\nENV A=2 C=$A P=$PATH:x\nRUN x\nENV D e f\n";
    let all = evaluate_target(text, None);
    let value = |name: &str| all.env(name).and_then(|set| set.value.known_text());
    assert_eq!((value("A"), value("C"), value("P"), value("D")), (Some("2"), Some("1"), None, Some("e f")));
    assert_eq!(value("B"), Some("gamd64"));
    assert!(all.runs[0].scope.env("D").is_none());
    let set = all.env("C").expect("C");
    assert_eq!((&text[set.span.start..set.span.end], &text[set.value_span.start..set.value_span.end]), ("C=$A", "$A"));
    assert_eq!(set.origins.iter().map(|span| &text[span.start..span.end]).collect::<Vec<_>>(), ["1"]);
}

fn expand_with_sample_variables(text: &str, dialect: Dialect) -> Result<String, Vec<String>> {
    let lookup = |name: &str| match name {
        "v" => VariableLookup::Known("v12.4.1".into(), vec![Span::new(1, 2)]),
        "e" => VariableLookup::Known(String::new(), vec![]),
        "n" => VariableLookup::NoValue,
        "u" => VariableLookup::Unset,
        other => VariableLookup::Unknown(vec![other.into()], Cause::OnlyBaseSets),
    };
    match expand_variables(text, dialect, &lookup) {
        ExpandedText::Known { value, .. } => Ok(value),
        ExpandedText::Unresolved { names, .. } => Err(names),
    }
}

#[test]
fn substitutions_give_what_buildkit_gives() {
    for (text, value) in [
        ("$v-x", "v12.4.1-x"),
        ("${v}x", "v12.4.1x"),
        ("${e:-d}${e-d}", "d"),
        ("${n:-$v}${u-d}", "v12.4.1d"),
        ("${v:+:$v}${u:+x}${e+y}", ":v12.4.1y"),
        ("${v#v}", "12.4.1"),
        ("${v##*.}|${v%.*}|${v%%.*}", "1|v12.4|v12"),
        ("${v/./-}|${v//./-}", "v12-4.1|v12-4-1"),
        ("\"a b\"'$v'\\$v", "a b$v$v"),
        ("\"\\$v \\x\"", "$v \\x"),
        ("${v:-${x}}", "v12.4.1"),
        ("a$", "a$"),
    ] {
        assert_eq!(expand_with_sample_variables(text, Dialect::Dockerfile('\\')), Ok(value.to_owned()), "{text}");
    }
}

#[test]
fn the_forms_of_buildkit_and_of_bash_give_what_those_give() {
    let docker = |text: &str| expand_with_sample_variables(text, Dialect::Dockerfile('\\'));
    for (text, value) in [
        ("he\\$v|\"he\\v\"|'\\$v'", "he$v|he\\v|\\$v"),
        ("$v.$|$%|${v}$", "v12.4.1.$|$%|v12.4.1$"),
        ("${u:-a${v}b}|${u-'}'}|${u:-\"}\"}", "av12.4.1b|}|}"),
        ("${e-x}|${e:-x}|${e+x}|${e:+x}", "|x|x|"),
        ("${v?no}|${v:?no}|${e?no}", "v12.4.1|v12.4.1|"),
        ("${v#*.}|${v##*.}|${v%.*}|${v%%.*}|${v#x}|${v%}", "4.1|1|v12.4|v12|v12.4.1|v12.4.1"),
        ("${v#\\v}|${v#v1?}|${v%\\*}", "12.4.1|.4.1|v12.4.1"),
        ("${v/1/x}|${v//1/x}|${v/./}|${v//[/-}|${v/\\./${v#v12.4.}}", "vx2.4.1|vx2.4.x|v124.1|v12.4.1|v1214.1"),
        ("${u}|${u#x}|${u//a/b}", "||"),
        ("$u|${v}_x", "|v12.4.1_x"),
    ] {
        assert_eq!(docker(text), Ok(value.to_owned()), "{text}");
    }
    // BuildKit refuses these.
    for text in [
        "${}", "${{v}", "${:v}", "${v", "${v:}", "${v^}", "${v^^}", "${v,,}", "${v:0:2}", "${v:#x}", "${v/x}",
        "${u?x}", "${e:?x}",
    ] {
        assert!(docker(text).is_err(), "{text}");
    }
    for (text, value) in [
        ("${v^}|${v^^}|${v,,}|${v,}", "V12.4.1|V12.4.1|v12.4.1|v12.4.1"),
        ("${v:1}|${v:1:4}|${v:0:-2}|${v: -3}|${v: -3:1}|${v:9}|${v:1:0}", "12.4.1|12.4|v12.4|4.1|4||"),
    ] {
        assert_eq!(expand_with_sample_variables(text, Dialect::Shell), Ok(value.to_owned()), "{text}");
    }
    for text in
        ["${v^a}", "${v:0:x}", "${v: -30}", "${v:5:-5}", "${v:1+1}", "${v: 99999999999999999999}", "${#v}", "${!v}"]
    {
        assert!(expand_with_sample_variables(text, Dialect::Shell).is_err(), "{text}");
    }
}

#[test]
fn unknown_value_names_its_variables() {
    for (text, names) in [
        ("$x$y$x", vec!["x", "y"]),
        ("${x:+:$x}", vec!["x"]),
        ("$n", vec!["n"]),
        ("${n:?set it}", vec!["n"]),
        ("{{ v }}", vec![]),
        ("${", vec![]),
        ("${v:", vec!["v"]),
        ("'x", vec![]),
    ] {
        assert_eq!(
            expand_with_sample_variables(text, Dialect::Dockerfile('\\')),
            Err(names.into_iter().map(String::from).collect()),
            "{text}"
        );
    }
    assert_eq!(expand_with_sample_variables("$(ls)", Dialect::Dockerfile('\\')), Ok("$(ls)".into()));
    assert_eq!(expand_with_sample_variables("$(ls $(a))", Dialect::Shell), Err(vec![]));
    assert_eq!(expand_with_sample_variables("${v/.4}", Dialect::Shell), Ok("v12.1".into()));
    assert!(expand_with_sample_variables(&"${v:-".repeat(100_000), Dialect::Shell).is_err());
}

/// Compared with `BuildKit`'s own parser of instructions, case by case.
#[test]
fn values_that_a_build_does_not_take_are_refused() {
    let refused = |line: &str| !Dockerfile::parse(&format!("FROM a\n{line}\n")).problems.is_empty();
    for line in [
        r#"RUN ["echo", 1]"#,
        r#"CMD ["echo", ["nested"]]"#,
        r#"RUN ["a", null]"#,
        r#"COPY ["a", 1]"#,
        "VOLUME [1]",
        r#"VOLUME [""]"#,
        "VOLUME []",
        "SHELL []",
        "ENTRYPOINT [true]",
        "ENTRYPOINT [{}]",
        "HEALTHCHECK CMD [1]",
        "ONBUILD RUN [1]",
        "RUN --network=foo a",
        "RUN --network=$X a",
        "RUN --security=foo a",
        "HEALTHCHECK --interval=1x CMD a",
        "HEALTHCHECK --interval=30 CMD a",
        "HEALTHCHECK --interval=100us CMD a",
        "HEALTHCHECK --timeout=-1s CMD a",
        "HEALTHCHECK --retries=-1 CMD a",
        "HEALTHCHECK --retries=a CMD a",
        "ARG --bogus=1",
        "LABEL --bogus=1 a=b",
        "RUN x\n \\",
        "\\\n# nothing",
    ] {
        assert!(refused(line), "{line}");
    }
    for line in [
        "RUN [ -f x ] && y",
        "RUN [1] x",
        "RUN ['a']",
        r#"RUN ["a" "b"]"#,
        r#"RUN ["a"] b"#,
        r#"RUN ["a","b",]"#,
        "RUN []",
        "CMD []",
        r#"VOLUME ["a"]"#,
        "RUN --network=none a",
        "RUN --network=host a",
        "RUN --security=insecure a",
        "HEALTHCHECK --interval=1m30s CMD a",
        "HEALTHCHECK --interval=0 CMD a",
        "HEALTHCHECK --interval=1ms CMD a",
        "HEALTHCHECK --interval=1.5h CMD a",
        "HEALTHCHECK --timeout=.5s CMD a",
        "HEALTHCHECK --retries=0 CMD a",
        r#"HEALTHCHECK CMD ["a"]"#,
        "HEALTHCHECK NONE",
        "ARG --bogus=1 X=1",
        "ARG --bogus X",
        "RUN x \\",
        " \\\nRUN x",
    ] {
        assert!(!refused(line), "{line}");
    }
}

#[test]
fn so_many_instructions_of_one_file_are_followed_and_no_more() {
    let options = EvaluateOptions::new(crate::knowledge::Knowledge::built_in());
    let file = |runs: usize| Dockerfile::parse(&format!("FROM a\n{}", "RUN b\n".repeat(runs)));
    let most = MOST_INSTRUCTIONS - 1;
    assert_eq!(file(most).evaluate(&options).map(|evaluated| evaluated.runs.len()), Ok(most));
    let longer = file(most + 1);
    assert_eq!(longer.evaluate(&options).map(|evaluated| evaluated.runs.len()), Err(EvaluateError::TooLong));
    // All of it is read none the less.
    assert_eq!((longer.stages.len(), longer.instructions.len()), (1, MOST_INSTRUCTIONS + 1));
}

#[test]
fn the_variables_of_one_instruction_see_those_in_front_of_it() {
    let seen = evaluate_target("FROM a\nENV A=1 B=2\nENV A=$B B=$A C=$C\nRUN x\nENV A=3\nRUN y\n", None);
    let of = |run: usize, name: &str| match seen.runs[run].scope.lookup(name) {
        VariableLookup::Known(value, _) => value,
        _ => "-".to_owned(),
    };
    assert_eq!([of(0, "A"), of(0, "B"), of(1, "A"), of(1, "B")], ["2", "1", "3", "1"]);
}
