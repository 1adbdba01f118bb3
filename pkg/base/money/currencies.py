"""Write pkg/base/money/currencies.txt: each currency with its decimals and about 2,000 US dollars in it.

Usage: currencies.py TABLE RATES. TABLE is the table of ISO 4217 (list one) as its maintenance agency publishes it, in
XML. RATES is JSON: the price of a US dollar in each currency. `make currencies` fetches both.
"""
import json
import sys
import xml.etree.ElementTree as ElementTree

# Units of account without a market price: units of one for a US dollar, roughly.
UNITS = {"BOV": 4.5, "CHE": 0.88, "CHW": 0.83, "CLF": 0.024, "COU": 8, "USN": 1, "UYI": 6.3, "UYW": 23, "XAD": 0.25}

table = ElementTree.parse(sys.argv[1]).getroot()
with open(sys.argv[2], encoding="utf-8") as file:
    rates = json.load(file)

decimals = {}
for entry in table.iter("CcyNtry"):
    code, digits = entry.findtext("Ccy"), entry.findtext("CcyMnrUnts")
    if code and digits.isdigit():  # gold, the test code and "no currency" have no decimals
        decimals[code] = digits

print(f"# ISO 4217, list one, published {table.get('Pblshd')}; prices of {rates['date']}. Written by make currencies.")
for code in sorted(decimals):
    price = rates["usd"].get(code.lower()) or UNITS[code]
    print(code, decimals[code], int(float(f"{2000 * price:.1e}")))
