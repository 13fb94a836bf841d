use super::*;

/// `name cases real/vacuous mode` of every test.
fn seen(language: Grammar, source: &str) -> Vec<String> {
    let line = |t: &TestDefinition| {
        let cases = t.cases.map_or("?".to_owned(), |n| n.to_string());
        format!(
            "{} {cases} {}/{} {:?}",
            t.name,
            t.assertions.len(),
            t.vacuous,
            t.mode
        )
    };
    tests(language, source).iter().map(line).collect()
}

/// The strengths of the assertions of one Python test with this body.
fn python(body: &str) -> Vec<String> {
    strengths(
        Grammar::Python,
        &format!("def test_x():\n    {}\n", body.replace('\n', "\n    ")),
    )
}

fn script(body: &str) -> Vec<String> {
    strengths(
        Grammar::TypeScript,
        &format!("test('x', async () => {{\n{body}\n}});\n"),
    )
}

fn strengths(language: Grammar, source: &str) -> Vec<String> {
    let [test] = &tests(language, source)[..] else {
        panic!("one test in {source}");
    };
    let real = test
        .assertions
        .iter()
        .map(|a| format!("{:?} {}", a.strength, a.subject));
    real.chain((0..test.vacuous).map(|_| "vacuous".to_owned()))
        .collect()
}

#[test]
fn python_tests_are_found() {
    let source = r#"
import unittest, pytest

def helper(x):
    assert x > 1

def test_plain():
    helper(2)

@pytest.mark.skip(reason="no")
def test_skipped(): assert f() == 1

@pytest.mark.skipif(sys.platform == "win32", reason="")
def test_conditionally():
    assert f() == 1

@pytest.mark.skipif(True, reason="")
def test_never():
    assert f() == 1

@pytest.mark.xfail
async def test_xfail():
    assert await f() == 1

@pytest.mark.parametrize("a,b", [(1, 2), (3, 4), pytest.param(1, 2, marks=pytest.mark.skip)])
@pytest.mark.parametrize("c", (1, 2))
def test_cases(a, b, c):
    assert a == b + c

@pytest.mark.parametrize("a", rows())
def test_unknown_cases(a):
    assert a

class TestCart:
    pytestmark = [pytest.mark.xfail]
    class TestDeep:
        def test_inner(self): pass

    def not_a_test(self): pass

class Basket(unittest.TestCase):
    def setUp(self): pass
    def test_sum(self):
        self.assertEqual(sum([1]), 1)
        self.assertTrue(True)
    @unittest.skip("later")
    def test_later(self):
        pass
    def test_says_so_itself(self):
        self.skipTest("not today")
        assert f() == 2
    def test_says_so_sometimes(self):
        if x:
            pytest.skip("not here")
        assert f() == 2

class Plain:
    def test_not_collected(self): assert 1

def test_plain():
    assert f() == 3
"#;
    assert_eq!(
        seen(Grammar::Python, source),
        [
            "test_skipped 1 1/0 Skipped",
            "test_conditionally 1 1/0 SkippedIf",
            "test_never 1 1/0 Skipped",
            "test_xfail 1 1/0 ExpectedToFail",
            "test_cases 4 1/0 Runs",
            "test_unknown_cases ? 1/0 Runs",
            "TestCart.TestDeep::test_inner 1 0/0 ExpectedToFail",
            "Basket::test_sum 1 1/1 Runs",
            "Basket::test_later 1 0/0 Skipped",
            "Basket::test_says_so_itself 1 0/0 Skipped",
            "Basket::test_says_so_sometimes 1 1/0 SkippedIf",
            "test_plain 1 1/0 Runs",
        ]
    );
    let whole =
        "import pytest\npytest.skip('x', allow_module_level=True)\ndef test_a():\n    assert f() == 1\n";
    assert_eq!(seen(Grammar::Python, whole), ["test_a 1 1/0 Skipped"]);
    let used = "def check_all(x):\n    check(x)\ndef check(x):\n    assert x == 1\ndef test_a():\n    check_all(f())\n";
    assert_eq!(seen(Grammar::Python, used), ["test_a 1 1/0 Runs"]);
}

#[test]
fn python_assertions_have_a_strength() {
    let cases: &[(&str, &[&str])] = &[
        ("assert f(1) == 2", &["Exact f ( 1 )"]),
        ("assert 2 == f(1)", &["Exact f ( 1 )"]),
        ("assert f(1) is None", &["Exact f ( 1 )"]),
        ("assert f(1)", &["Presence f ( 1 )"]),
        ("assert not f(1)", &["Presence f ( 1 )"]),
        ("assert f(1) is not None", &["Presence f ( 1 )"]),
        ("assert f(1) != 3", &["Presence f ( 1 )"]),
        ("assert 'a' in f(1)", &["Partial f ( 1 )"]),
        ("assert len(f(1)) == 2", &["Partial f ( 1 )"]),
        ("assert isinstance(f(1), int)", &["Partial f ( 1 )"]),
        ("assert f(1) > 2", &["Partial f ( 1 )"]),
        (
            "assert f(1) == pytest.approx(2)",
            &["Close { tolerance: None } f ( 1 )"],
        ),
        (
            "assert f(1) == pytest.approx(2, abs=0.5)",
            &["Close { tolerance: Some(0.5) } f ( 1 )"],
        ),
        ("assert a == 1 and b == 2, 'why'", &["Exact a", "Exact b"]),
        ("assert a == 1 or b == 2", &["Partial a == 1 or b == 2"]),
        (
            "with pytest.raises(ValueError):\n    f()",
            &["Raises pytest . raises ( ValueError )"],
        ),
        (
            "with pytest.raises(ValueError, match='x') as e:\n    f()\nassert e.value.code == 3",
            &[
                "RaisesMatching pytest . raises ( ValueError , match = 'x' )",
                "Exact e . value . code",
            ],
        ),
        (
            "with pytest.raises(Exception):\n    f()",
            &["RaisesAnything pytest . raises ( Exception )"],
        ),
        ("self.assertEqual(f(1), 2)", &["Exact f ( 1 )"]),
        ("self.assertIn(1, f())", &["Partial f ( )"]),
        ("self.assertTrue(f(1) == 2)", &["Exact f ( 1 )"]),
        (
            "self.assertAlmostEqual(f(), 1.5, places=1)",
            &["Close { tolerance: Some(0.1) } f ( )"],
        ),
        ("m.assert_called_once_with(3)", &["Exact 3"]),
        ("np.testing.assert_allclose(a, b)", &["Exact a"]),
        ("assert True", &["vacuous"]),
        ("assert 1 == 1", &["vacuous"]),
        ("assert x == x", &["vacuous"]),
        ("assert (x == 1, 'message')", &["vacuous"]),
        ("assert x == 1 or True", &["vacuous"]),
        ("assert isinstance(x, object)", &["vacuous"]),
        ("assert 'text'", &["vacuous"]),
        ("self.assertEqual(x, x)", &["vacuous"]),
        (
            "try:\n    assert f() == 1\nexcept Exception:\n    pass",
            &["vacuous"],
        ),
        ("try:\n    assert f() == 1\nexcept:\n    pass", &["vacuous"]),
        (
            "try:\n    assert f() == 1\nexcept AssertionError:\n    raise",
            &["Exact f ( )"],
        ),
        (
            "with contextlib.suppress(AssertionError):\n    assert f() == 1",
            &["vacuous"],
        ),
        ("return\nassert f() == 1", &[]),
        ("if False:\n    assert f() == 1", &[]),
        ("for x in y:\n    assert x == 1", &["Exact x"]),
        ("def inner():\n    assert f() == 1", &[]),
        ("f(1)", &[]),
    ];
    for (body, expected) in cases {
        assert_eq!(python(body), *expected, "{body}");
    }
}

#[test]
fn javascript_tests_are_found() {
    let source = r"
import { describe, expect, it, test } from 'vitest';
describe('cart', () => {
  beforeEach(() => { expect(1).toBe(one()); });
  it('adds', () => { expect(add(1, 2)).toBe(3); });
  describe.skip('old', function () {
    test('it\'s gone', () => { expect(f()).toBe(1) });
  });
  it.only('alone', () => {});
  it.each([[1, 2], [3, 4]])('row %i', (a, b) => { expect(a).toBe(b); });
  it.each`
    a    | b
    ${1} | ${2}
    ${3} | ${4}
  `('table $a', ({ a, b }) => { expect(a).toEqual(b); });
});
test.todo('later');
test.skipIf(process.env.CI)('local', async () => { await expect(f()).resolves.toBe(1); });
test.skipIf(true)('never', () => {});
test.fails('known', () => { expect(f()).toBe(1); });
xit('off', () => {});
test('with options', { skip: true }, () => {});
test(`named ${x}`, () => {});
test(Cart.name, () => {});
test('twice', () => {});
test('twice', () => {});
describe.each(table)('many', () => { test.concurrent('one', () => {}); });
test('asks', (t) => { if (x) t.skip(); });
foo.test('no', () => {});
/x/.test('no');
";
    assert_eq!(
        seen(Grammar::TypeScript, source),
        [
            "cart > adds 1 1/0 Runs",
            "cart > old > it's gone 1 1/0 Skipped",
            "cart > alone 1 0/0 Only",
            "cart > row %i 2 1/0 Runs",
            "cart > table $a 2 1/0 Runs",
            "later 1 0/0 Todo",
            "local 1 1/0 SkippedIf",
            "never 1 0/0 Skipped",
            "known 1 1/0 ExpectedToFail",
            "off 1 0/0 Skipped",
            "with options 1 0/0 Skipped",
            "named ${x} 1 0/0 Runs",
            "Cart 1 0/0 Runs",
            "twice 1 0/0 Runs",
            "twice #2 1 0/0 Runs",
            "many > one ? 0/0 Runs",
            "asks 1 0/0 SkippedIf",
        ]
    );
}

#[test]
fn javascript_assertions_have_a_strength() {
    let cases: &[(&str, &[&str])] = &[
        ("expect(f(1)).toBe(2)", &["Exact f ( 1 )"]),
        ("expect(f(1)).toEqual({ a: 1 })", &["Exact f ( 1 )"]),
        ("expect(f(1)).toBeDefined()", &["Presence f ( 1 )"]),
        ("expect(f(1)).not.toBe(2)", &["Presence f ( 1 )"]),
        ("expect(f(1)).toContain(2)", &["Partial f ( 1 )"]),
        ("expect(f(1)).toEqual(expect.anything())", &["Partial f ( 1 )"]),
        (
            "expect(f(1)).toBeCloseTo(2, 1)",
            &["Close { tolerance: Some(0.05) } f ( 1 )"],
        ),
        ("expect(() => f()).toThrow()", &["RaisesAnything ( ) => f ( )"]),
        (
            "expect(() => f()).toThrow(Error)",
            &["RaisesAnything ( ) => f ( )"],
        ),
        ("expect(() => f()).toThrow(RangeError)", &["Raises ( ) => f ( )"]),
        (
            "expect(() => f()).toThrow('no')",
            &["RaisesMatching ( ) => f ( )"],
        ),
        (
            "await expect(f()).rejects.toThrow(/no/)",
            &["RaisesMatching f ( )"],
        ),
        ("expect(f()).to.equal(1)", &["Exact f ( )"]),
        ("expect(f()).to.be.true;", &["Exact f ( )"]),
        ("assert.strictEqual(f(), 1)", &["Exact f ( )"]),
        ("assert(f())", &["Presence f ( )"]),
        ("assert.throws(() => f())", &["RaisesAnything ( ) => f ( )"]),
        ("expect(true).toBe(true)", &["vacuous"]),
        ("expect(1).toBeTruthy()", &["vacuous"]),
        ("expect(x).toEqual(x)", &["vacuous"]),
        ("assert(true)", &["vacuous"]),
        ("assert.equal(x, x)", &["vacuous"]),
        ("try { expect(f()).toBe(1); } catch {}", &["vacuous"]),
        (
            "try { expect(f()).toBe(1); } catch (e) { throw e; }",
            &["Exact f ( )"],
        ),
        ("expect(f());", &[]),
        ("expect.assertions(1);", &[]),
        ("if (false) { expect(f()).toBe(1); }", &[]),
        ("return; expect(f()).toBe(1);", &[]),
        ("for (const x of y) { expect(x).toBe(1); }", &["Exact x"]),
        ("f(1)", &[]),
    ];
    for (body, expected) in cases {
        assert_eq!(script(body), *expected, "{body}");
    }
}

#[test]
fn the_fingerprint_ignores_layout() {
    let of = |source| tests(Grammar::Python, source)[0].fingerprint;
    let one = of("def test_a():\n    # why\n    assert f(1) == 2\n");
    assert_eq!(one, of("def test_b():\n        assert f( 1 )  ==  2  # so\n"));
    assert_ne!(one, of("def test_a():\n    assert f(1) == 3\n"));
}

#[test]
fn extreme_nesting_is_not_searched() {
    let deep = format!("def test_a():\n    assert {}1\n", "not ".repeat(5_000));
    assert_eq!(tests(Grammar::Python, &deep), []);
}

#[test]
fn an_assertion_in_a_loop_over_a_table_counts_for_each_entry() {
    for (body, expected) in [
        ("for a in [1, 2, 3]:\n        assert f(a) == a", 3),
        (
            "steps = [(1, 2), (3, 4)]\n    for a, b in steps:\n        with self.subTest(a):\n            self.assertEqual(f(a), b)",
            2,
        ),
        ("for a, b in {1: 2, 3: 4}.items():\n        assert f(a) == b", 2),
        ("for n, a in enumerate(TABLE):\n        assert f(a) == n", 2),
        ("for a in range(9):\n        assert f(a) == a", 1),
        (
            "for a in [x for x in TABLE if x > 9]:\n        assert f(a) == a",
            1,
        ),
        (
            "steps = [1, 2]\n    steps = []\n    for a in steps:\n        assert f(a) == a",
            1,
        ),
    ] {
        let source = format!("TABLE = [1, 2]\n\ndef test_a(self):\n    {body}\n");
        let found = tests(Grammar::Python, &source);
        assert_eq!(found[0].assertions.len(), expected, "{source}");
    }
}
