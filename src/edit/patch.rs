//! A change of a text as a unified patch.

use std::fmt::Write as _;

/// Lines around a change.
const AROUND: usize = 3;
/// Texts with more lines between the first change and the last are told as one change.
const LONGEST: usize = 2_000;

/// One line of a patch.
#[derive(Clone, Copy)]
enum Line<'a> {
    Same(&'a str),
    Gone(&'a str),
    Come(&'a str),
}

/// The patch that makes one text of another; nothing where they are the same.
pub fn patch(path: &str, before: &str, after: &str) -> String {
    if before == after {
        return String::new();
    }
    let (olds, news): (Vec<&str>, Vec<&str>) =
        (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let lines = lines(&olds, &news);
    let mut out = format!("--- a/{path}\n+++ b/{path}\n");
    let changed: Vec<usize> =
        lines.iter().enumerate().filter(|(_, line)| !matches!(line, Line::Same(_))).map(|(at, _)| at).collect();
    let mut next = changed.iter().copied().peekable();
    while let Some(first) = next.next() {
        let mut last = first;
        while let Some(more) = next.next_if(|at| *at <= last + 2 * AROUND) {
            last = more;
        }
        hunk(&mut out, &lines, first.saturating_sub(AROUND), (last + AROUND + 1).min(lines.len()));
    }
    out
}

fn hunk(out: &mut String, lines: &[Line<'_>], from: usize, to: usize) {
    let count = |list: &[Line<'_>]| {
        let old = list.iter().filter(|line| !matches!(line, Line::Come(_))).count();
        let new = list.iter().filter(|line| !matches!(line, Line::Gone(_))).count();
        (old, new)
    };
    let (before, own) = (lines.get(..from).unwrap_or_default(), lines.get(from..to).unwrap_or_default());
    let ((old_at, new_at), (olds, news)) = (count(before), count(own));
    let start = |at: usize, length: usize| if length == 0 { at } else { at + 1 };
    // Writing into a text cannot fail.
    let _ = writeln!(out, "@@ -{},{olds} +{},{news} @@", start(old_at, olds), start(new_at, news));
    for line in own {
        let (sign, text) = match line {
            Line::Same(text) => (' ', text),
            Line::Gone(text) => ('-', text),
            Line::Come(text) => ('+', text),
        };
        out.push(sign);
        out.push_str(text);
        if !text.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// What stays, goes and comes, by the longest common run of lines.
fn lines<'a>(olds: &[&'a str], news: &[&'a str]) -> Vec<Line<'a>> {
    let head = olds.iter().zip(news).take_while(|(one, other)| one == other).count();
    let rest = |list: &[&'a str]| list.get(head..).unwrap_or_default().to_vec();
    let (mut old, mut new) = (rest(olds), rest(news));
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(one, other)| one == other).count();
    let kept: Vec<&str> = old.split_off(old.len() - tail);
    new.truncate(new.len() - tail);
    let mut found: Vec<Line<'a>> = olds.iter().take(head).map(|line| Line::Same(line)).collect();
    if old.len().max(new.len()) > LONGEST {
        found.extend(old.iter().map(|line| Line::Gone(line)));
        found.extend(new.iter().map(|line| Line::Come(line)));
    } else {
        middle(&old, &new, &mut found);
    }
    found.extend(kept.into_iter().map(Line::Same));
    found
}

/// The longest common subsequence of few lines.
fn middle<'a>(old: &[&'a str], new: &[&'a str], found: &mut Vec<Line<'a>>) {
    let width = new.len() + 1;
    let mut longest = vec![0_u32; (old.len() + 1) * width];
    let at = |row: usize, column: usize| row * width + column;
    let get = |table: &[u32], row: usize, column: usize| table.get(at(row, column)).copied().unwrap_or(0);
    for (row, one) in old.iter().enumerate().rev() {
        for (column, other) in new.iter().enumerate().rev() {
            let value = if one == other {
                get(&longest, row + 1, column + 1) + 1
            } else {
                get(&longest, row + 1, column).max(get(&longest, row, column + 1))
            };
            if let Some(cell) = longest.get_mut(at(row, column)) {
                *cell = value;
            }
        }
    }
    let (mut row, mut column) = (0, 0);
    loop {
        match (old.get(row), new.get(column)) {
            (Some(one), Some(other)) if one == other => {
                found.push(Line::Same(one));
                (row, column) = (row + 1, column + 1);
            }
            (Some(one), other)
                if other.is_none() || get(&longest, row + 1, column) >= get(&longest, row, column + 1) =>
            {
                found.push(Line::Gone(one));
                row += 1;
            }
            (_, Some(other)) => {
                found.push(Line::Come(other));
                column += 1;
            }
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::patch;

    #[test]
    fn a_patch_has_the_lines_around_each_change() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
        assert_eq!(
            patch("f", before, &before.replace("2\n3", "2\nx\n3").replace("11\n", "")),
            "--- a/f\n+++ b/f\n@@ -1,5 +1,6 @@\n 1\n 2\n+x\n 3\n 4\n 5\n@@ -8,5 +9,4 @@\n 8\n 9\n 10\n-11\n 12\n"
        );
        assert_eq!(
            patch("f", "a\nb", "a\nc"),
            "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"
        );
        assert_eq!(patch("f", "", "a\n"), "--- a/f\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n");
        assert_eq!(patch("f", "a\r\nb\r\n", "a\r\nc\r\n"), "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n");
        assert_eq!(patch("f", before, before), "");
    }
}
