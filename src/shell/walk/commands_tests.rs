//! Tests of the commands that scripts run; `~` marks a command that may not run.

use super::*;

/// Returns the words of each command of a script, with `~` in front of a conditional one.
fn command_lines(text: &str) -> Vec<String> {
    let text = MappedText::contiguous(text, 0);
    let word = |word: Word| word.known().map_or_else(|| "?".to_owned(), str::to_owned);
    let line = |one: Command| {
        let words: Vec<String> = one.words.into_iter().map(word).collect();
        format!("{}{}", if one.conditional { "~" } else { "" }, words.join(" "))
    };
    walk_script(&text, &VariableScope::default(), &[], ShellFiles::NONE).into_iter().map(line).collect()
}

/// Returns the words of each command that is not a test.
fn command_lines_without_tests(text: &str) -> Vec<String> {
    let asks = |line: &String| ["[", "~[", "test", "~test"].iter().any(|word| line.starts_with(word));
    command_lines(text).into_iter().filter(|line| !asks(line)).collect()
}

#[test]
fn scripts_fall_into_commands() {
    for (text, expected) in [
        ("a b && c || d; (e; f) | g", vec!["a b", "c", "~d", "e", "f", "g"]),
        ("V=1 && pip install x==$V", vec!["pip install x==1"]),
        ("export V=2; a $V", vec!["a 2"]),
        ("V=1 a; b \"$V\"", vec!["a", "b "]),
        ("bash -lc 'a \"b c\" && d'", vec!["a b c", "d"]),
        ("sh -c \"pip install torch==2.1\"", vec!["pip install torch==2.1"]),
        ("if [ -f x ]; then V=1; else V=2; fi; a $V", vec!["~[ -f x ]", "a ?"]),
        ("for v in 1 2; do a $v; done; b", vec!["a 1", "a 2", "b"]),
        ("for v in $(x); do a $v; done; b", vec!["~a ?", "b"]),
        ("case $x in a) b;; c) d;; esac; e", vec!["~b", "~d", "e"]),
        ("P='a b' && x $P \"$P\"", vec!["x a b a b"]),
        ("V=$(date) && a $V", vec!["a ?"]),
        ("echo 'pip install torch'", vec!["echo pip install torch"]),
        ("cat <<E\npip install x\nE\na", vec!["cat", "a"]),
        ("(V=1; a $V); b $V; { V=2; }; c $V", vec!["a 1", "b", "c 2"]),
        ("echo case x in; a", vec!["echo case x in", "a"]),
    ] {
        assert_eq!(command_lines(text), expected, "{text}");
    }
}

#[test]
fn loops_functions_and_arrays_are_followed_where_they_are_plain() {
    for (text, expected) in [
        (
            "for v in 1 2; do a $v; for w in x y; do b $v$w; done; done",
            vec!["a 1", "b 1x", "b 1y", "a 2", "b 2x", "b 2y"],
        ),
        ("for v in a b\ndo\n  if [ $v = a ]; then x $v; else y $v; fi\ndone\nz", vec!["x a", "y b", "z"]),
        ("P='1 2'; for v in $P; do a $v && b; done", vec!["a 1", "b", "a 2", "b"]),
        ("sh -c 'for v in 1 2; do a $v; done'; b", vec!["a 1", "a 2", "b"]),
        ("f() { a \"$@\" $1; }; f 1 '2 3'", vec!["a 1 2 3 1"]),
        ("f() { shift; a \"$@\"; }\nf 1 2 3; b", vec!["shift", "a 2 3", "b"]),
        ("function f { a $1; }; function g() { f x$1; }; g 1; g 2", vec!["a x1", "a x2"]),
        ("f() {\n  local v=$1\n  for w in 1 2; do a $v$w; done\n}\nf x && b", vec!["a x1", "a x2", "b"]),
        ("A=(1 '2 3'\n4); a \"${A[@]}\" ${A[*]}", vec!["a 1 2 3 4 1 2 3 4"]),
        ("A=(1); A+=(2); for v in \"${A[@]}\"; do a $v; done", vec!["a 1", "a 2"]),
        ("read -ra P <<< \"1 2\" && a \"${P[@]}\" $P", vec!["read -ra P", "a 1 2 1"]),
        ("read -r V W <<< '1 2 3'; a $V $W", vec!["read -r V W", "a 1 2 3"]),
        ("V=4; read W <<< $V; a $W", vec!["read W", "a 4"]),
        // Unsupported forms stay unknown, and a function that is not called does not run.
        ("IFS=, read -ra P <<< 1,2; a ${P[@]}", vec!["read -ra P", "a ?"]),
        ("P=(1); read -d x -a P <<< 2; a ${P[@]}", vec!["read -d x -a P", "a ?"]),
        ("read V <<< $(x); a $V", vec!["read V", "a ?"]),
        ("read V < file; a $V", vec!["read V", "a ?"]),
        ("V=1; x || read V <<< 2; a $V", vec!["x", "~read V", "a ?"]),
        ("for v in *.txt x; do a $v; done", vec!["a ?"]),
        ("for v in 1 $(x); do a $v; done", vec!["a ?"]),
        ("for v in {1..3} 4; do a $v; done", vec!["a ?"]),
        ("f() { a; }; b", vec!["b"]),
        ("f() { f; a; }; f", vec!["f", "a", "a", "a", "a"]),
        ("if x; then A=(1); fi; a ${A[@]}", vec!["~x", "a ?"]),
        ("A=(2); if x; then\nA=(1); fi; a ${A[@]}", vec!["~x", "a ?"]),
        ("A=(1 (2)); b", vec!["b"]),
        ("a ${B[@]} \"$@\"", vec!["a ? "]),
        ("f() (a; b); f", vec!["f", "a", "b", "f"]),
        ("f() { a", vec!["f", "a"]),
        ("A=(1", vec![]),
        ("for v in 1 2; do a $v", vec!["a ?"]),
    ] {
        assert_eq!(command_lines_without_tests(text), expected, "{text}");
    }
}

#[test]
fn loops_are_evaluated_as_in_a_shell() {
    let mut wrong = Vec::new();
    for (text, expected) in [
        ("for v in 1 2; do a $v && break; done; b $v", vec!["a 1", "b 1"]),
        ("for v in 1 2 3; do if [ $v = 2 ]; then continue; fi; a $v; done; b", vec!["a 1", "a 3", "b"]),
        ("for v in 1 2 3; do case $v in 2) break;; esac; a $v; done", vec!["a 1"]),
        ("for v in 1 2; do for w in x y; do a $v$w; break; done; done", vec!["a 1x", "a 2x"]),
        ("L=; for v in 1 2; do L=\"$L $v\"; done; a $L", vec!["a 1 2"]),
        (
            "set -- -t 2 -x; while [ $# -gt 0 ]; do case $1 in -t) V=$2; shift;; esac; shift; done; a $V",
            vec!["set -- -t 2 -x", "shift", "shift", "shift", "a 2"],
        ),
        ("i=0; while [ $i != 1 ]; do a $i; i=1; done; b $i", vec!["a 0", "b 1"]),
        ("i=0; until [ $i = 1 ]; do a $i; i=1; done; b $i", vec!["a 0", "b 1"]),
        ("while :; do a; break; done; b", vec!["~:", "a", "b"]),
        ("while false; do a; V=2; done; b ${V:-1}", vec!["~false", "b 1"]),
        ("A=(1); (A=(2)); a ${A[@]}", vec!["a 1"]),
        // The number of iterations, or whether the loop ends there, is unknown.
        ("V=1; while x; do V=2; done; a $V", vec!["~x", "a ?"]),
        ("V=1; while [ -n \"$(x)\" ]; do V=2; a; done; b $V", vec!["~a", "b ?"]),
        ("for v in 1 2; do if x; then break; fi; a $v; done; b $v", vec!["~x", "~a 1", "~x", "~a 2", "b ?"]),
        ("for v in 1 2; do if x; then continue; fi; a $v; done", vec!["~x", "~a 1", "~x", "~a 2"]),
        ("for v in 1 2; do (break); a $v; done", vec!["~a 1", "~a 2"]),
        ("for v in 1 2; do for w in 3; do break 2; done; a $v; done", vec!["a ?"]),
        ("f() { for v in 1 2; do return; done; }; f; a $v", vec!["return", "a ?"]),
        ("f() { a $2; }; f $(x) 1", vec!["a ?"]),
        ("f() { a $2; }; f \"$(x)\" 1", vec!["a 1"]),
        ("break; a", vec!["a"]),
        // A script may end before its last command, and end well.
        ("if ! x; then exit 0; fi; a", vec!["~x", "~exit 0", "~a"]),
        ("x || exit 0; a", vec!["x", "~exit 0", "~a"]),
        ("if x; then exit; fi; a; (b)", vec!["~x", "~exit", "~a", "~b"]),
        ("if x; then a; exit $?; fi; b", vec!["~x", "~a", "~exit", "~b"]),
        ("f() { if x; then exit 0; fi; }; f; a", vec!["~x", "~exit 0", "~a"]),
        ("a; exit 0; b", vec!["a", "exit 0"]),
        // With an error it ends the build; and a shell of its own ends alone.
        ("if ! x; then exit 1; fi; a", vec!["x", "a"]),
        ("x || exit; a", vec!["x", "~exit", "a"]),
        ("x || exit $?; a", vec!["x", "~exit", "a"]),
        ("x || { b; exit 2; }; a", vec!["x", "~b", "~exit 2", "a"]),
        ("(x || exit 0; b); a", vec!["x", "~exit 0", "~b", "a"]),
        ("sh -c 'x || exit 0; b'; a", vec!["x", "~exit 0", "~b", "a"]),
        ("x | exit 0; a", vec!["x", "exit 0", "a"]),
        ("if [ 1 = 2 ]; then exit 0; fi; a", vec!["a"]),
        ("echo exit 0; a", vec!["echo exit 0", "a"]),
        ("while :", vec!["~:"]),
    ] {
        let actual = command_lines_without_tests(text);
        if actual != expected {
            wrong.push(format!("{text}\n  expected {expected:?}\n  said     {actual:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // A loop that nothing ends is left.
    assert!(command_lines("while :; do a; done; b").len() < 200);
    assert!(command_lines("while :; do while :; do a; done; done; b").len() < 8_000);
}

#[test]
fn positional_parameters_are_scoped_to_their_shell() {
    for (text, expected) in [
        ("set -- 2 3; a $1 $2 $#", "a 2 3 2"),
        ("set -e -- 2; a $1", "a 2"),
        ("set -euo pipefail 2; a $1", "a 2"),
        ("set 2; a $1", "a 2"),
        ("set -- 2; set -ex; set -o pipefail; a $1", "a 2"),
        ("set -- 2; set --; a x${1-3}", "a x3"),
        ("set -- 2; { set -- 3; }; a $1", "a 3"),
        ("set -- 2; shift; a x${1:-3}", "a x3"),
        // A shell of its own keeps what it sets to itself.
        ("set -- 2; (set -- 3); a $1", "a 2"),
        ("set -- 2; (shift); a $1", "a 2"),
        ("set -- 2; (set -- 3) & a $1", "a 2"),
        ("set -- 2; { set -- 3; } & a $1", "a 2"),
        ("set -- 2; set -- 3 & a $1", "a 2"),
        ("set -- 2; x | { set -- 3; cat; }; a $1", "a 2"),
        ("set -- 2; { set -- 3; x; } | cat; a $1", "a 2"),
        ("set -- 2; x | set -- 3; a $1", "a 2"),
        ("set -- 2; if x; then set -- 3; fi | cat; a $1", "a 2"),
        ("set -- 2; x | case b in b) set -- 3;; esac; a $1", "a 2"),
        ("V=2; x | { V=3; cat; }; a $V", "a 2"),
        ("V=2; V=3 | cat; a $V", "a 2"),
        ("x | { set -- 3; V=4; a $1 $V; }", "a 3 4"),
        ("set -- 2; bash -c 'a ${1:-3}'", "a 3"),
        ("set -- 2; bash -c 'a ${1-3}' x", "a 3"),
        ("set -- 2; bash -c 'a $1' x 4", "a 4"),
        ("set -- 2; bash -c \"a $1\" x 4", "a 2"),
        ("set -- 2; bash -c \"a \\$1\" x 4", "a ?"),
        ("set -- 2; bash -c 'set -- 3'; a $1", "a 2"),
        ("V=2; bash -c 'V=3'; a $V", "a 2"),
        ("set -- 2; f() { set -- 3; }; f 4; a $1", "a 2"),
        ("f() { a $1; }; set -- 2; f", "a "),
        ("set -- 2; a $(echo $1)", "a 2"),
        // What is not known leaves those behind it open.
        ("set -- $(x); a $1", "a ?"),
        ("set -- 2 $(x) 3; a $1 $2 $3 $#", "a 2 ? ? ?"),
        ("set -- 2 \"$(x)\" 3; a $1 $2 $3 $#", "a 2 ? 3 3"),
        ("set -- *.whl; a $1", "a ?"),
        ("set $(x); a $1", "a ?"),
        ("set -- 2; if x; then set -- 3; fi; a $1", "a ?"),
        ("set -- 2; x && y || set 3; a $1", "a ?"),
        ("set -- 2 $(x); shift; a $1", "a ?"),
        ("set -- $(x); shift; a $1", "a ?"),
    ] {
        assert_eq!(
            command_lines(text).last().map(|line| line.trim_start_matches('~')),
            Some(expected.trim_end()),
            "{text}"
        );
    }
}

#[test]
fn recursive_functions_and_nested_loops_end() {
    let loops = "for a in 1 2 3 4 5 6 7 8 9; do ".repeat(12);
    let functions = format!("f() {{ {} }}; f", "f; ".repeat(400));
    let arrays = format!("A=(x); {}a \"${{A[@]}}\"", "A+=(\"${A[@]}\" \"${A[@]}\"); ".repeat(60));
    let arguments = format!("f() {{ g {}; }}; g() {{ h {0}; }}; h() {{ f {0}; }}; f 1 2 3", "\"$@\" ".repeat(2000));
    for text in [
        format!("{loops} x {}", "; done".repeat(12)),
        functions,
        arrays,
        arguments,
        "f() { ".repeat(3000),
        "A=(".repeat(3000),
    ] {
        let commands = command_lines(&text);
        assert!(commands.len() <= 20_000, "{}", text.len());
        assert!(commands.iter().map(|command| command.split(' ').count()).sum::<usize>() < 200_000, "{}", text.len());
    }
}

#[test]
fn a_known_condition_selects_one_branch() {
    for (text, expected) in [
        ("V=gpu; if [ \"$V\" = \"gpu\" ]; then a; else b; fi; c", vec!["a", "c"]),
        ("V=cpu; if [ \"$V\" = \"gpu\" ]; then a; else b; fi; c", vec!["b", "c"]),
        ("V=2; if [ $V = 1 ]; then a; elif [ $V = 2 ]; then b; else c; fi", vec!["b"]),
        ("V=1; if [ -f x ]; then a; elif [ $V = 1 ]; then b; else c; fi", vec!["~a", "~b"]),
        ("V=x; if [ $V != x ]; then a; fi; b", vec!["b"]),
        ("V=; if [ -n \"$V\" ]; then a; fi; if [ -z \"$V\" ]; then b; fi", vec!["b"]),
        ("V=1; if [ -z ${V} ]; then a; fi", vec![]),
        ("V=12; if test $V -ge 12; then a; fi; if [ $V -lt 12 ]; then b; fi", vec!["a"]),
        ("V=12.4; if [ $V -ge 12 ]; then a; fi", vec!["~a"]),
        ("V=a; if ! [ $V = a ]; then b; else c; fi; if [ ! $V = a ]; then d; fi", vec!["c"]),
        (
            "V=ab; if [[ $V == a* ]]; then b; fi; if [[ $V == \"a*\" ]]; then c; fi; if [ $V = a* ]; then d; fi",
            vec!["b", "~c"],
        ),
        ("V=a W=b; if [[ $V == a && $W == b ]]; then c; fi; if [[ $V == b || $W == c ]]; then d; fi", vec!["c"]),
        ("V=a; if [ $V = a ] && [ -f x ]; then b; fi; if [ $V = b ] && [ -f x ]; then c; fi", vec!["~b"]),
        ("V=a; if [ $V = a ] || [ -f x ]; then b; else c; fi", vec!["b"]),
        ("V=a; if x && [ $V = a ]; then b; fi; if x && [ $V = b ]; then c; fi", vec!["~x", "~b", "~x"]),
        ("V=a; case $V in b) c;; a|d) e;; *) f;; esac; g", vec!["e", "g"]),
        ("V=linux/arm64; case $V in \"linux/arm64\") a ;; *) b ;; esac", vec!["a"]),
        ("V=linux/amd64; case ${V} in\n linux/arm*) a ;;\n *)\n b\n ;;\nesac; c", vec!["b", "c"]),
        ("case $V in (a) b;; *) c;; esac", vec!["~b", "~c"]),
        ("V=a; if [ $V = a ]; then case $V in a) b; esac; fi; c", vec!["b", "c"]),
        ("V=1; if [ $V = 1 ]; then W=2; else W=3; fi; a $W", vec!["a 2"]),
        ("V=0; if [ $V = 1 ]; then W=2; fi; a \"$W\"", vec!["a "]),
        ("V=1; [ $V = 1 ] && W=2 || W=3; a $W", vec!["a 2"]),
        ("V=0; [ $V = 1 ] && { W=2; b; } || (c; d); a", vec!["c", "d", "a"]),
        ("V=0; if [ $V = 1 ]; then if [ -f x ]; then a; else b; fi; else c; fi; d", vec!["c", "d"]),
        (
            "if true; then a; else b; fi; if false; then c; fi; true || d; false || e",
            vec!["~true", "a", "~false", "true", "false", "e"],
        ),
        ("V=a; bash -c 'if [ $V = a ]; then b; fi'; c", vec!["b", "c"]),
    ] {
        assert_eq!(command_lines_without_tests(text), expected, "{text}");
    }
}

#[test]
fn an_unknown_condition_makes_its_branches_conditional() {
    for (text, expected) in [
        // Nothing in the text sets it, but the base image or the command line may.
        ("if [ \"$V\" = gpu ]; then a; else b; fi", vec!["~a", "~b"]),
        ("V=a; . /etc/os-release; if [ $V = a ]; then b; fi", vec![". /etc/os-release", "~b"]),
        ("V=a; . /venv/bin/activate; if [ $V = a ]; then b; fi", vec![". /venv/bin/activate", "b"]),
        ("N=0; while x; do if [ $N = 0 ]; then a; fi; N=1; done", vec!["~x", "~a"]),
        ("V=a; if [[ $V =~ ^(a|b)$ ]]; then c; else d; fi; e", vec!["~c", "~d", "e"]),
        ("V=a; if [[ $V > b ]]; then c; else d; fi", vec!["~c", "~d"]),
        ("V=a; x || [[ $V == b && -f y ]] && c; d", vec!["x", "~c", "d"]),
        ("V=a; if [[ $V == a || -f x && -f y ]]; then c; else d; fi", vec!["~c", "~d"]),
        ("V=a; [[ $V == a &&; b", vec!["b"]),
        ("V='a b'; if [ $V = a ]; then b; fi", vec!["~b"]),
        ("[ -f x ] && W=2; a $W", vec!["a ?"]),
        ("[ -f x ] && a; b", vec!["~a", "b"]),
        ("[ -f x ] && a || b", vec!["~a", "~b"]),
        ("[ -f x ] || a; b", vec!["~a", "b"]),
        // The build fails where this test does not hold.
        ("x; [ -f x ] && a && b", vec!["x", "a", "b"]),
        ("if ! a; then b; fi", vec!["~a", "~b"]),
    ] {
        assert_eq!(command_lines_without_tests(text), expected, "{text}");
    }
}

#[test]
fn script_above_the_branch_limit_is_not_read() {
    assert_eq!(command_lines(&format!("a; {} b", "( ".repeat(5_000))), ["a"]);
    assert_eq!(command_lines(&format!("a; {} b", "(x);".repeat(40_000))).len(), MAX_COMMANDS);
    assert_eq!(command_lines(&format!("a; {}", "fi; done; esac; } ) ;; ".repeat(500))), ["a"]);
}

#[test]
fn pipes_of_filters_over_known_words_are_followed() {
    for (text, expected) in [
        ("V=12.4.1; a cu$(echo $V | cut -d. -f1-2 | tr -d .)", vec!["a cu124"]),
        ("V=12.4.1; a \"x$(echo \"$V\" | cut -d. -f1)y$(echo $V | cut -d. -f2)\"", vec!["a x12y4"]),
        ("V=12.4.1; W=$(echo ${V} | sed 's/\\.//g'); a $W", vec!["a 1241"]),
        ("V=12.4.1; if [ \"$(echo $V | cut -d. -f1)\" = 12 ]; then a; else b; fi", vec!["a"]),
        ("V=12.4.1; a ${V//./}", vec!["a 1241"]),
        ("V=12.4; a $(printf '%s' \"$V\" | awk -F. '{print $1\"-\"$2}')", vec!["a 12-4"]),
        ("a $(uname -m | tr -d _)", vec!["a ?"]),
        ("V=12.4; a $(echo $V | python3 -c x | cut -d. -f1)", vec!["a ?"]),
        ("V=12.4; a $(cat f | cut -d. -f1)", vec!["a ?"]),
        ("V=12.4; a $(cut -d. -f1 <<< $V)", vec!["a ?"]),
        ("a 'x$(echo 1)'", vec!["a x$(echo 1)"]),
        ("V='1 2'; a $(echo $V)", vec!["a ?"]),
        ("a $(echo '$HOME')", vec!["a ?"]),
        ("V=1; . f; a $(echo $V)", vec![". f", "a ?"]),
        ("a $((1+1))$(echo 1)", vec!["a ?"]),
        ("a $(echo 1", vec!["a ?"]),
    ] {
        assert_eq!(
            command_lines(text).into_iter().filter(|line| !line.contains("[ ")).collect::<Vec<_>>(),
            expected,
            "{text}"
        );
    }
}

#[test]
fn a_file_that_was_copied_is_there_until_a_command_may_take_it_away() {
    use crate::dockerfile::{Dockerfile, EvaluateOptions};
    let evaluated_lines = |text: &str| -> Vec<String> {
        let file = Dockerfile::parse(&format!("FROM scratch\nRUN {text}\n"));
        let evaluated = file.evaluate(&EvaluateOptions::new(crate::knowledge::Knowledge::built_in())).expect("a stage");
        let text = |path: &str| (path == "r.txt" || path == "/app/r.txt").then(String::new);
        let commands = walk_run(&evaluated.runs[0], ShellFiles { text: &text, ..ShellFiles::NONE });
        let line = |one: &Command| {
            let words: Vec<&str> = one.words.iter().filter_map(Word::known).collect();
            format!("{}{}", if one.conditional { "~" } else { "" }, words.join(" "))
        };
        commands.iter().map(line).filter(|line| !line.contains("[ ") && !line.contains("test ")).collect()
    };
    for (text, expected) in [
        ("if [ -f r.txt ]; then a; else b; fi", vec!["a"]),
        ("if [ ! -f r.txt ]; then a; else b; fi", vec!["b"]),
        ("test -e /app/r.txt && a", vec!["a"]),
        ("[ -f r.txt ] || a", vec![]),
        ("if [ -f other.txt ]; then a; else b; fi", vec!["~a", "~b"]),
        ("cd /x && if [ -f r.txt ]; then a; fi", vec!["cd /x", "~a"]),
        ("rm r.txt; if [ -f r.txt ]; then a; fi", vec!["rm r.txt", "~a"]),
        ("rm -rf /app; if [ -f /app/r.txt ]; then a; fi", vec!["rm -rf /app", "~a"]),
        ("rm *.txt; if [ -f r.txt ]; then a; fi", vec!["rm *.txt", "~a"]),
        (". x; if [ -f r.txt ]; then a; fi", vec![". x", "~a"]),
        ("if [ -f \"$F\" ]; then a; fi", vec!["~a"]),
        ("if [ -d r.txt ]; then a; fi", vec!["~a"]),
    ] {
        assert_eq!(evaluated_lines(text), expected, "{text}");
    }
}

#[test]
fn a_command_that_a_condition_insists_on_is_certain() {
    for (text, expected) in [
        ("if ! a; then exit 1; fi; b", vec!["a", "b"]),
        ("if ! a >log 2>&1\nthen\n  echo bad\n  exit 2\nfi\nb", vec!["a", "b"]),
        ("if a; then b; else echo bad; exit 1; fi", vec!["a", "b"]),
        ("if ! a; then exit 1; else b; fi", vec!["a", "b"]),
        ("if ! a; then if [ -f x ]; then c; fi; exit 1; fi", vec!["a"]),
        ("f() { if ! a; then exit 1; fi; }; f", vec!["a"]),
        ("until a; do sleep 1; done; b", vec!["a", "~sleep 1", "b"]),
        ("while ! a; do sleep 1; done", vec!["a", "~sleep 1"]),
        ("until a; do n=1; [ -f x ] && exit 1; done", vec!["a", "~[ -f x ]", "~exit 1"]),
    ] {
        assert_eq!(command_lines(text), expected, "{text}");
    }
    // Its failure may be lived with, or another answer may be the one that ends the script.
    for text in [
        "if a; then b; fi",
        "if a; then b; else c; fi",
        "if ! a; then c; fi",
        "if ! a; then exit 0; fi",
        "if ! a; then exit; fi",
        "if ! a; then exit $x; fi",
        "if ! a; then [ -f x ] && exit 1; fi",
        "if ! a; then [ -f x ] || exit 1; fi",
        "if ! a; then if [ -f x ]; then exit 1; fi; fi",
        "if ! a; then case $x in y) exit 1;; esac; fi",
        "if ! a; then (exit 1); fi",
        "if ! a; then exit 1 | tee log; fi",
        "if ! a; then [ -f x ] && exit 0; exit 1; fi",
        "if ! a; then [ -f x ] && exit $x; exit 1; fi",
        "if ! a; then return 0; exit 1; fi",
        "if ! a; then echo exit 1; fi",
        "if ! a; then c; else exit 1; fi",
        "if a; then exit 1; fi",
        "if a; then exit 1; else b; fi",
        "if a; then b; elif c; then d; else exit 1; fi",
        "if ! a; then exit 1",
        "if ! a & then exit 1; fi",
        "until a; do sleep 1; break; done",
        "until a; do [ -f x ] && exit 0; done",
        "until ! a; do sleep 1; done",
        "while a; do sleep 1; done",
    ] {
        let first = command_lines(text).into_iter().find(|line| line.ends_with('a'));
        assert_eq!(first.as_deref(), Some("~a"), "{text}: {:?}", command_lines(text));
    }
    for text in ["if ! a && c; then exit 1; fi", "if ! a || c; then exit 1; fi", "if ! a | c; then exit 1; fi"] {
        assert!(command_lines(text).iter().all(|line| line.starts_with('~')), "{text}: {:?}", command_lines(text));
    }
}

#[test]
fn commands_after_a_possible_exit_are_conditional() {
    let mut wrong = Vec::new();
    for (text, expected) in [
        ("if ! a; then exit 0; fi; b", vec!["~a", "~exit 0", "~b"]),
        ("if ! a; then exit; fi; b", vec!["~a", "~exit", "~b"]),
        ("if ! a; then exit $?; fi; b && c", vec!["~a", "~exit", "~b", "~c"]),
        ("if a; then b; exit 0; fi; c", vec!["~a", "~b", "~exit 0", "~c"]),
        ("a || exit 0; b", vec!["a", "~exit 0", "~b"]),
        ("a && exit 0; b", vec!["a", "exit 0", "~b"]),
        ("V=$(x); a || exit $V; b", vec![":", "a", "~exit ?", "~b"]),
        ("a || { b; exit; }; c", vec!["a", "~b", "~exit", "~c"]),
        ("f() { a || exit 0; }; f; b", vec!["a", "~exit 0", "~b"]),
        ("f() { a || return 0; b; }; f; c", vec!["a", "~return 0", "~b", "c"]),
        ("sh -c 'a || exit 0; b'; c", vec!["a", "~exit 0", "~b", "c"]),
        ("(a || exit 0; b); c", vec!["a", "~exit 0", "~b", "c"]),
        ("{ a || exit 0; b; } | c; d", vec!["a", "~exit 0", "~b", "c", "d"]),
        ("while getopts h o; do exit 0; done <$x; a", vec!["~getopts h o", "a"]),
        ("set -- -h; while getopts h o; do exit 0; done; a", vec!["set -- -h", "~getopts h o", "~exit 0", "~a"]),
        ("a; exit 0; b", vec!["a", "exit 0"]),
        ("if true; then exit; fi; b", vec!["~true", "exit"]),
        ("for v in 1 2; do a && exit 0; done; exit 1", vec!["a", "exit 0"]),
    ] {
        if command_lines(text) != expected {
            wrong.push(format!("{text}\n  expected {expected:?}\n  said     {:?}", command_lines(text)));
        }
    }
    // One that fails ends the build, one that stands elsewhere ends that alone, and one that does not run ends nothing.
    for text in [
        "a || exit 1; b",
        "a || exit; b",
        "a || exit $?; b",
        "if ! a; then exit 1; fi; b",
        "if [ -f x ]; then exit 2; fi; b",
        "[ -f x ] || exit -1; b",
        "(exit 0); b",
        "a | exit 0; b",
        "exit 0 & b",
        "sh -c 'exit 0'; b",
        "bash <<E\nexit 0\nE\nb",
        "f() { exit 0; }; b",
        "f() { return; }; f; b",
        "f() { a || return 1; b; }; f",
        "return 0; b",
        "echo exit 0; b",
        "V=exit; b",
        "if false; then exit 0; fi; b",
        "a $(exit 0); b",
        "eval a; b",
    ] {
        if command_lines(text).last().map(String::as_str) != Some("b") {
            wrong.push(format!("{text}\n  said     {:?}", command_lines(text)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
