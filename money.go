package fieldmark

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Money is an amount in the smallest unit of its currency: cents of EUR, whole
// JPY, thousandths of KWD.
type Money struct {
	Value    int64    `json:"value" minimum:"0" doc:"In the smallest unit of the currency: 1250 is 12.50 EUR, 1250 JPY, 1.250 KWD"`
	Currency Currency `json:"currency" minLength:"3" maxLength:"3" pattern:"^[A-Z]{3}$" patternDescription:"an ISO 4217 code in upper case"`
}

// MaxMoney bounds an amount: past it, JSON numbers of many clients are not exact.
const MaxMoney = 1 << 53

// Currency is an ISO 4217 alphabetic code in upper case.
type Currency string

// currencies maps the exponent to the currencies whose smallest unit is 10 to
// minus that power. Source: ISO 4217:2015, list one (current currency and funds
// codes), column "minor unit", as SIX publishes it for ISO. Codes without a minor
// unit there (metals, test codes, units of account) are no money to be paid in.
var currencies = map[int]string{
	0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
	2: "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY " +
		"COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR " +
		"IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD " +
		"NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP " +
		"SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG",
	3: "BHD IQD JOD KWD LYD OMR TND",
	4: "CLF UYW",
}

// Exponent returns how many decimals the currency has; false if there is no such
// currency.
func (c Currency) Exponent() (int, bool) {
	if len(c) != 3 {
		return 0, false
	}
	for exponent, codes := range currencies {
		for code := range strings.FieldsSeq(codes) {
			if code == string(c) {
				return exponent, true
			}
		}
	}
	return 0, false
}

// Check returns every error of the amount at the given JSON Pointer.
func (m Money) Check(pointer string) []FieldError {
	var bad []FieldError
	if _, ok := m.Currency.Exponent(); !ok {
		bad = append(bad, FieldError{Pointer: pointer + "/currency", Code: "enum", Detail: "must be an ISO 4217 code, in upper case"})
	}
	if m.Value < 0 || m.Value > MaxMoney {
		bad = append(bad, FieldError{Pointer: pointer + "/value", Code: "range", Detail: "must be from 0 to 9007199254740992"})
	}
	return bad
}

// String writes the amount as people do: 12.50 EUR.
func (m Money) String() string {
	exponent, _ := m.Currency.Exponent()
	unit := int64(math.Pow10(exponent))
	if exponent == 0 {
		return fmt.Sprintf("%d %s", m.Value, m.Currency)
	}
	sign, whole, rest := "", m.Value/unit, m.Value%unit
	if m.Value < 0 {
		sign, whole, rest = "-", -whole, -rest
	}
	return fmt.Sprintf("%s%d.%0*d %s", sign, whole, exponent, rest, m.Currency)
}

// ParseMoney reads an amount as String writes it, with or without decimals; more
// decimals than the currency has are refused, not rounded.
func ParseMoney(s string) (Money, error) {
	amount, code, _ := strings.Cut(s, " ")
	m := Money{Currency: Currency(code)}
	exponent, ok := m.Currency.Exponent()
	if !ok {
		return Money{}, Errorf(CodeInvalidParameter, "an amount is written as in 12.50 EUR, with an ISO 4217 code in upper case")
	}
	whole, decimals, dot := strings.Cut(amount, ".")
	digits := whole + decimals + strings.Repeat("0", max(0, exponent-len(decimals)))
	value, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || whole == "" || dot && decimals == "" || len(decimals) > exponent || strings.Trim(whole+decimals, "0123456789") != "" || value > MaxMoney {
		return Money{}, Errorf(CodeInvalidParameter, "an amount of %s is written in digits, with at most %d after a point", m.Currency, exponent)
	}
	m.Value = value
	return m, nil
}
