//! Words and operators of shell text.

use std::ops::Range;

/// A piece of shell text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A word with its quotes.
    Word(Range<usize>),
    /// `;`, `&`, a line end.
    Separator,
    /// `&&`.
    And,
    /// `;;` and its kin.
    ArmEnd,
    /// `|`.
    Pipe,
    /// `||`.
    Or,
    /// `(`.
    Open,
    /// `)`.
    Close,
    /// A redirection with its target; for `<<`, the range of `<<` and its word.
    Redirect(Range<usize>),
}

/// Splits a text; here-documents inside it are skipped.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = Lexer { text, bytes: text.as_bytes(), at: 0, pending: Vec::new(), out: Vec::new() };
    lexer.run();
    lexer.out
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    pending: Vec<(String, bool)>,
    out: Vec<Token>,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn run(&mut self) {
        while self.at < self.bytes.len() {
            match self.peek(0) {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\\' if self.peek(1) == b'\n' => self.at += 2,
                b'\\' if self.peek(1) == b'\r' && self.peek(2) == b'\n' => self.at += 3,
                b'\n' => {
                    self.at += 1;
                    self.out.push(Token::Separator);
                    self.skip_heredocs();
                }
                b'#' => self.at = self.line_end(self.at),
                b'|' if self.peek(1) == b'|' => self.operator(Token::Or, 2),
                b'&' if self.peek(1) == b'>' => self.redirect(),
                b'&' if self.peek(1) == b'&' => self.operator(Token::And, 2),
                b';' if self.peek(1) == b';' => self.operator(Token::ArmEnd, 2 + usize::from(self.peek(2) == b'&')),
                b';' if self.peek(1) == b'&' => self.operator(Token::ArmEnd, 2),
                b'|' => self.operator(Token::Pipe, 1 + usize::from(self.peek(1) == b'&')),
                b';' | b'&' => self.operator(Token::Separator, 1),
                b'(' => self.operator(Token::Open, 1),
                b')' => self.operator(Token::Close, 1),
                b'<' | b'>' if self.peek(1) == b'(' => {
                    let start = self.at;
                    self.nested();
                    self.out.push(Token::Word(start..self.at.min(self.bytes.len())));
                }
                b'<' | b'>' => self.redirect(),
                _ => {
                    let word = self.word();
                    let digits = self.bytes[word.clone()].iter().all(u8::is_ascii_digit);
                    if digits && matches!(self.peek(0), b'<' | b'>') {
                        self.redirect();
                    } else {
                        self.out.push(Token::Word(word));
                    }
                }
            }
        }
    }

    fn operator(&mut self, token: Token, length: usize) {
        self.at += length;
        self.out.push(token);
    }

    fn line_end(&self, from: usize) -> usize {
        self.bytes[from..].iter().position(|byte| *byte == b'\n').map_or(self.bytes.len(), |end| from + end)
    }

    fn redirect(&mut self) {
        let start = self.at;
        while matches!(self.peek(0), b'<' | b'>' | b'&' | b'|') && self.at < start + 3 {
            self.at += 1;
        }
        let here = self.text.get(start..self.at) == Some("<<");
        let strip = here && self.peek(0) == b'-';
        self.at += usize::from(strip);
        while matches!(self.peek(0), b' ' | b'\t') {
            self.at += 1;
        }
        if matches!(self.peek(0), b'(') {
            return;
        }
        let target = self.word();
        if here {
            let name = self.text.get(target.clone()).unwrap_or("").replace(['"', '\'', '\\'], "");
            if !name.is_empty() {
                self.pending.push((name, strip));
            }
        }
        self.out.push(Token::Redirect(start..target.end));
    }

    fn skip_heredocs(&mut self) {
        for (name, strip) in std::mem::take(&mut self.pending) {
            while self.at < self.bytes.len() {
                let end = self.line_end(self.at);
                let line = self.text.get(self.at..end).unwrap_or("").trim_end_matches('\r');
                self.at = (end + 1).min(self.bytes.len());
                if name == if strip { line.trim_start_matches('\t') } else { line } {
                    break;
                }
            }
        }
    }

    fn word(&mut self) -> Range<usize> {
        let start = self.at;
        while self.at < self.bytes.len() {
            match self.peek(0) {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => break,
                b'\\' => self.at += 2,
                b'\'' => {
                    self.at += 1;
                    self.past(b'\'', false);
                }
                quote @ (b'"' | b'`') => {
                    self.at += 1;
                    self.past(quote, true);
                }
                b'$' if matches!(self.peek(1), b'(' | b'{') => self.nested(),
                _ => self.at += 1,
            }
        }
        self.at = self.at.min(self.bytes.len());
        start..self.at
    }

    fn past(&mut self, end: u8, escapes: bool) {
        while self.at < self.bytes.len() {
            match self.peek(0) {
                byte if byte == end => {
                    self.at += 1;
                    return;
                }
                b'\\' if escapes => self.at += 2,
                b'$' if end == b'"' && self.peek(1) == b'(' => self.nested(),
                _ => self.at += 1,
            }
        }
    }

    /// Past `$( )`, `<( )` or `${ }`, whatever is inside.
    fn nested(&mut self) {
        let (open, close) = if self.peek(1) == b'(' { (b'(', b')') } else { (b'{', b'}') };
        let mut depth = 0_usize;
        let mut single = false;
        self.at += 1;
        while self.at < self.bytes.len() {
            let byte = self.peek(0);
            self.at += 1;
            match byte {
                b'\'' => single = !single,
                b'\\' if !single => self.at += 1,
                _ if single => {}
                _ if byte == open => depth += 1,
                _ if byte == close => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && !single {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        let range = |token| match token {
            Token::Word(range) => text.get(range),
            Token::Redirect(_) => Some("<>"),
            Token::Open => Some("("),
            Token::Close => Some(")"),
            Token::Or => Some("||"),
            Token::Separator => Some(";"),
            Token::And => Some("&&"),
            Token::ArmEnd => Some(";;"),
            Token::Pipe => Some("|"),
        };
        tokens(text).into_iter().filter_map(range).collect()
    }

    #[test]
    fn text_falls_into_words_and_operators() {
        assert_eq!(words("a 'b c' && d\\ e|f # g"), ["a", "'b c'", "&&", "d\\ e", "|", "f"]);
        assert_eq!(words("a > b 2>&1 || (c; d)"), ["a", "<>", "<>", "||", "(", "c", ";", "d", ")"]);
        assert_eq!(words("x=$(a | b) \"$(c \"d\")\" `e f`"), ["x=$(a | b)", "\"$(c \"d\")\"", "`e f`"]);
        assert_eq!(words("a -r <(b | c) |& d"), ["a", "-r", "<(b | c)", "|", "d"]);
        assert_eq!(words("a <("), ["a", "<("]);
        assert_eq!(words("a;; b ;& c;;& d & e"), ["a", ";;", "b", ";;", "c", ";;", "d", ";", "e"]);
        assert_eq!(words("cat <<E > f\nbody; x\nE\nnext"), ["cat", "<>", "<>", ";", "next"]);
        assert_eq!(words("pip install 'torch>=2,<3' a>=1"), ["pip", "install", "'torch>=2,<3'", "a", "<>"]);
    }
}
