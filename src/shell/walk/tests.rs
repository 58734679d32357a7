//! What a script runs, by the words of its commands; `~` stands in front of one that may not run.

use super::*;

fn run(text: &str) -> Vec<String> {
    let text = Mapped::whole(text, 0);
    let word = |word: Word| word.known().map_or_else(|| "?".to_owned(), str::to_owned);
    let line = |one: Command| {
        let words: Vec<String> = one.words.into_iter().map(word).collect();
        format!("{}{}", if one.conditional { "~" } else { "" }, words.join(" "))
    };
    script(&text, &Scope::default(), &[]).into_iter().map(line).collect()
}

/// The commands that are no tests.
fn taken(text: &str) -> Vec<String> {
    let asks = |line: &String| ["[", "~[", "test", "~test"].iter().any(|word| line.starts_with(word));
    run(text).into_iter().filter(|line| !asks(line)).collect()
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
        ("for v in 1 2; do a $v; done; b", vec!["a ?", "b"]),
        ("for v in $(x); do a $v; done; b", vec!["~a ?", "b"]),
        ("case $x in a) b;; c) d;; esac; e", vec!["~b", "~d", "e"]),
        ("P='a b' && x $P \"$P\"", vec!["x a b a b"]),
        ("V=$(date) && a $V", vec!["a ?"]),
        ("echo 'pip install torch'", vec!["echo pip install torch"]),
        ("cat <<E\npip install x\nE\na", vec!["cat", "a"]),
        ("(V=1; a $V); b $V; { V=2; }; c $V", vec!["a 1", "b", "c 2"]),
        ("echo case x in; a", vec!["echo case x in", "a"]),
    ] {
        assert_eq!(run(text), expected, "{text}");
    }
}

#[test]
fn of_a_condition_whose_words_are_known_one_way_is_taken() {
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
        assert_eq!(taken(text), expected, "{text}");
    }
}

#[test]
fn what_is_not_sure_stays_open() {
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
        assert_eq!(taken(text), expected, "{text}");
    }
}

#[test]
fn more_branches_than_anybody_writes_end_the_reading() {
    assert_eq!(run(&format!("a; {} b", "( ".repeat(5_000))), ["a"]);
    assert_eq!(run(&format!("a; {} b", "(x);".repeat(40_000))).len(), MOST_COMMANDS);
    assert_eq!(run(&format!("a; {}", "fi; done; esac; } ) ;; ".repeat(500))), ["a"]);
}
