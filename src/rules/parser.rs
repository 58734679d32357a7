//! Builds the untyped tree of a condition from its tokens.

use crate::rules::lexer::Token;
use crate::rules::lexer::tokens;
use crate::rules::problem::Fault;
use crate::source::Span;

/// Bytes that a condition may have.
const LONGEST: usize = 4096;
/// How deep brackets, negations and calls may nest.
const DEEPEST: usize = 64;

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// A part of a condition and its place.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) span: Span,
    pub(super) kind: Kind,
}

/// What a part is.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Bool(bool),
    Text(String),
    Number(i64),
    Name(String),
    Call { name: String, name_span: Span, arguments: Vec<Node> },
    Not(Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Compare(Operator, Box<Node>, Box<Node>),
}

/// The tree of a source.
pub(super) fn parse(source: &str) -> Result<Node, Fault> {
    if source.len() > LONGEST {
        return Err(Fault::new(Span::new(0, 1), format!("a condition has at most {LONGEST} bytes")));
    }
    let mut parser = Parser { tokens: tokens(source)?, at: 0, end: source.len() };
    let node = parser.or(0)?;
    match parser.tokens.get(parser.at) {
        None => Ok(node),
        Some((token, span)) => Err(Fault::new(*span, "the condition ends before this").help(and_for(token))),
    }
}

fn and_for(token: &Token) -> String {
    match token {
        Token::Name(name) if name == "and" => "write `&&`".to_owned(),
        Token::Name(name) if name == "or" => "write `||`".to_owned(),
        _ => "join two conditions with `&&` or `||`".to_owned(),
    }
}

struct Parser {
    tokens: Vec<(Token, Span)>,
    at: usize,
    end: usize,
}

impl Parser {
    fn sign(&mut self, wanted: &str) -> Option<Span> {
        match self.tokens.get(self.at) {
            Some((Token::Sign(sign), span)) if *sign == wanted => {
                self.at += 1;
                Some(*span)
            }
            _ => None,
        }
    }

    fn here(&self) -> Span {
        self.tokens.get(self.at).map_or(Span::new(self.end, self.end), |(_, span)| *span)
    }

    fn expect(&mut self, wanted: &str) -> Result<Span, Fault> {
        let here = self.here();
        self.sign(wanted).ok_or_else(|| Fault::new(here, format!("expected `{wanted}`")))
    }

    fn or(&mut self, depth: usize) -> Result<Node, Fault> {
        let mut parts = vec![self.and(depth)?];
        while self.sign("||").is_some() {
            parts.push(self.and(depth)?);
        }
        Ok(joined(parts, Kind::Or))
    }

    fn and(&mut self, depth: usize) -> Result<Node, Fault> {
        let mut parts = vec![self.comparison(depth)?];
        while self.sign("&&").is_some() {
            parts.push(self.comparison(depth)?);
        }
        Ok(joined(parts, Kind::And))
    }

    fn comparison(&mut self, depth: usize) -> Result<Node, Fault> {
        let left = self.unary(depth)?;
        let Some(operator) = self.operator() else { return Ok(left) };
        let right = self.unary(depth)?;
        let again = self.here();
        if self.operator().is_some() {
            return Err(Fault::new(again, "comparisons do not chain").help("write `a < b && b < c`".to_owned()));
        }
        Ok(Node { span: left.span.to(right.span), kind: Kind::Compare(operator, Box::new(left), Box::new(right)) })
    }

    fn operator(&mut self) -> Option<Operator> {
        let operator = match self.tokens.get(self.at)? {
            (Token::Sign("=="), _) => Operator::Equal,
            (Token::Sign("!="), _) => Operator::NotEqual,
            (Token::Sign("<"), _) => Operator::Less,
            (Token::Sign("<="), _) => Operator::AtMost,
            (Token::Sign(">"), _) => Operator::Greater,
            (Token::Sign(">="), _) => Operator::AtLeast,
            _ => return None,
        };
        self.at += 1;
        Some(operator)
    }

    fn unary(&mut self, depth: usize) -> Result<Node, Fault> {
        let here = self.here();
        if depth > DEEPEST {
            return Err(Fault::new(here, format!("nested deeper than {DEEPEST} levels")));
        }
        if let Some(not) = self.sign("!") {
            let inner = self.unary(depth + 1)?;
            return Ok(Node { span: not.to(inner.span), kind: Kind::Not(Box::new(inner)) });
        }
        if self.sign("(").is_some() {
            let inner = self.or(depth + 1)?;
            let close = self.expect(")")?;
            return Ok(Node { span: here.to(close), kind: inner.kind });
        }
        let Some((token, span)) = self.tokens.get(self.at).cloned() else {
            return Err(Fault::new(here, "the condition ends where a value is expected"));
        };
        self.at += 1;
        let kind = match token {
            Token::Text(text) => Kind::Text(text),
            Token::Number(number) => Kind::Number(number),
            Token::Name(name) if name == "true" || name == "false" => Kind::Bool(name == "true"),
            Token::Name(name) => match self.sign("(") {
                Some(_) => return self.call(name, span, depth),
                None if name == "not" => {
                    return Err(Fault::new(span, "`not` is not an operator").help("write `!`".to_owned()));
                }
                None => Kind::Name(name),
            },
            Token::Sign(sign) => return Err(Fault::new(span, format!("expected a value, found `{sign}`"))),
        };
        Ok(Node { span, kind })
    }

    fn call(&mut self, name: String, name_span: Span, depth: usize) -> Result<Node, Fault> {
        let mut arguments = Vec::new();
        let close = loop {
            if arguments.is_empty()
                && let Some(close) = self.sign(")")
            {
                break close;
            }
            arguments.push(self.or(depth + 1)?);
            if self.sign(",").is_none() {
                break self.expect(")")?;
            }
        };
        Ok(Node { span: name_span.to(close), kind: Kind::Call { name, name_span, arguments } })
    }
}

fn joined(mut parts: Vec<Node>, join: fn(Vec<Node>) -> Kind) -> Node {
    let span = parts.iter().map(|part| part.span).reduce(Span::to).unwrap_or_default();
    match parts.len() {
        1 => parts.remove(0),
        _ => Node { span, kind: join(parts) },
    }
}
