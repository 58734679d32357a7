//! The settings of a run: found, read, and put under what the command line says.

mod apply;
mod held;
mod load;
mod show;

pub(crate) use self::apply::known;
pub(crate) use self::held::Held;
pub(crate) use self::held::of_inputs;
pub(crate) use self::load::Loaded;
pub(crate) use self::load::lock;
pub(crate) use self::load::within;
pub(crate) use self::show::show;
